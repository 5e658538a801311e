"""Metrics name the destinations with the most work and those that fail most."""

import pytest
import trio

from api.metrics import scrape
from api.metrics.scrape import Labelled, Scrape
from engine.core.health import CircuitState
from engine.core.snapshot import CircuitSnapshot, FailureRow, Snapshot, encode
from tests.api.house import Caller
from tests.service.house import ServiceHouse, destination, post
from tests.service.receiver import Receiver


async def scraped(house: ServiceHouse) -> Scrape:
    look = Scrape(house.server, {})
    await look.take()
    return look


async def named(house: ServiceHouse) -> dict[str, Labelled]:
    return {each.labels[0]: each for each in (await scraped(house)).destinations}


async def circuits(house: ServiceHouse) -> list[float]:
    return [value for _, value in (await scraped(house)).open_circuits]


async def test_a_failing_destination_is_named_beside_the_busiest(
    house: ServiceHouse, api: Caller, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scrape, "BUSIEST", 1)
    monkeypatch.setattr(scrape, "FAILING", 1)
    receiver.answer = lambda got: 500 if got.path == "/broken" else 204
    well = await destination(api, receiver.url("/well"), ["well"])
    later = {"retrySchedule": [3_600]}  # no retry comes due, which would probe the circuit
    broken = await destination(api, receiver.url("/broken"), ["broken"], delivery=later)
    busy = await destination(api, receiver.url("/busy"), ["busy"])
    await post(api, "well")
    for _ in range(10):
        await post(api, "broken")
    await house.until(
        api, f"/destinations/{broken}/health", lambda found: found["circuit"]["state"] == "OPEN"
    )
    await receiver.reaches(1, "/well")  # let this request end before the receiver holds its answers
    receiver.hold = trio.Event()
    for _ in range(12):
        await post(api, "busy")
    await house.until(
        api,
        f"/destinations/{busy}/health",
        lambda found: found["queue"]["pending"] + found["queue"]["inFlight"] == 12,
    )
    found = await named(house)
    assert set(found) == {busy, broken}
    assert found[broken].failures >= 10
    assert found[broken].circuit is CircuitState.OPEN
    monkeypatch.setattr(scrape, "FAILING", 0)
    assert set(await named(house)) == {busy}
    assert well not in found
    assert await circuits(house) == [1]
    receiver.hold.set()


async def test_a_destination_without_work_is_named_until_it_recovers_or_is_disabled(
    house: ServiceHouse, api: Caller, receiver: Receiver
) -> None:
    made = [await destination(api, receiver.url(), ["never"]) for _ in range(2)]
    snapshots = house.server.directory.snapshots
    for number, each in enumerate(made, 1):
        kept = house.server.models.destinations[each]
        opened = CircuitSnapshot(1.0, 2.0, 0)
        row = FailureRow(10 * number, quiet=False, silent_since=None, since=1.0)
        snapshots.keep(
            each, kept.environment, encode(Snapshot(taken_at=1.0, circuit=opened, row=row))
        )
    assert list(await named(house)) == made[::-1]
    assert await circuits(house) == [2]
    assert (await api("POST", f"/destinations/{made[0]}/disable", {})).status == 200
    assert list(await named(house)) == made[1:]
    assert await circuits(house) == [1]
    recovered = house.server.models.destinations[made[1]]
    snapshots.keep(made[1], recovered.environment, encode(Snapshot(taken_at=2.0)))
    assert await named(house) == {}
    assert await circuits(house) == []
