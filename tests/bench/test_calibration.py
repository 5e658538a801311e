"""The floors: the CPU time of the least work that an event service must do. The bench measures the floors
before and after each measurement of Angarium."""

from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
import trio

from bench.calibration import (
    DRIFT,
    around,
    drift,
    drifted,
    floors,
    insert_micros,
    measure,
    syscall_micros,
)
from bench.results import Floor
from bench.service import Receiver, Service
from storage.database.bridge import Bridge


async def test_rows_are_inserted_and_nothing_stays(bridge: Bridge) -> None:
    assert await trio.to_thread.run_sync(insert_micros, bridge.url, 2) > 0
    assert await trio.to_thread.run_sync(insert_micros, bridge.url, 1) > 0
    found = await bridge.pool.fetch_value(
        "SELECT count(*) FROM pg_namespace WHERE nspname LIKE 'bench%'"
    )
    assert found == 0


def test_requests_are_sent_and_answered() -> None:
    with Receiver() as receiver:
        found = measure(f"{receiver.url}/floor", 100)
        assert receiver.stats()["received"] == 100
    assert found["cpuMicros"] > 0
    assert found["perSecond"] > 0


async def test_floors_are_measured_beside_a_service(
    bridge: Bridge, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("storage.embedded.server.running_url", lambda _folder: bridge.url)
    beside = cast("Service", SimpleNamespace(folder=Path("data"), floor_requests=200))
    found = await trio.to_thread.run_sync(floors, beside)
    assert min(found.send_micros, found.insert_micros, found.syscall_micros) > 0
    monkeypatch.setattr("storage.embedded.server.running_url", lambda _folder: None)
    with pytest.raises(RuntimeError, match="no database runs in data"):
        await trio.to_thread.run_sync(floors, beside)


def test_a_call_costs_something() -> None:
    assert syscall_micros(1_000) > 0


def test_a_measurement_is_divided_by_the_mean_of_the_floors_around_it() -> None:
    assert around([Floor(5.0, 4.0, 0.1), Floor(6.0, 4.0, 0.2)]) == Floor(5.5, 4.0, 0.15)
    with pytest.raises(ValueError, match="no floors"):
        around([])


@pytest.mark.parametrize("which", [0, 1, 2])
def test_whichever_floor_drifts_marks_a_measurement(which: int) -> None:
    steady = [5.0, 4.0, 0.1]
    moved = [value * (DRIFT + 0.01 if place == which else 1) for place, value in enumerate(steady)]
    assert drift([Floor(*steady), Floor(*moved), Floor(*steady)]) == pytest.approx(DRIFT + 0.01)
    assert drifted([Floor(*moved), Floor(*steady)])
    assert not drifted([Floor(*steady)] * 3)
    assert not drifted([])
