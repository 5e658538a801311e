"""A profile of a real server. The CPU times of the profile's parts add up to the server's CPU use, and
each allocation has its module."""

from pathlib import Path

import pytest

from bench.posting import load
from bench.profiling.allocations import Record, module
from bench.profiling.postgres import Reading, role_of, spent
from bench.profiling.profile import Profile
from bench.profiling.stages import ABOUT, DATABASE, SYSTEM_CALLS
from bench.results import Measurement
from bench.service import Receiver, Service

EVENTS = 1_500  # some 200 ms of CPU: enough samples for the most expensive stages


def test_a_profile_says_where_the_cpu_of_a_run_went() -> None:
    service = Service()
    profile, record = Profile(service), Record(service)
    found = Measurement(figures={})
    with Receiver() as receiver, service:
        service.destination(receiver.url + "/hook", ["bench.*"], concurrency=16)
        profile.begin()
        load(service, events=EVENTS, connections=8)
        receiver.wait(EVENTS)
        assert service.settled()
        profile.end(EVENTS).into(found)
        depths = profile.depths()
        record.begin()
        load(service, events=50, connections=1, first=EVENTS)
        receiver.wait(EVENTS + 50)
        record.end(50).into(found)
    figures = found.figures
    whole = figures["serverMicrosPerEvent"] + figures["databaseMicrosPerEvent"]
    assert sum(found.split.values()) == pytest.approx(whole, rel=0.02)
    assert sum(found.modules.values()) == pytest.approx(figures["serverMicrosPerEvent"], rel=0.02)
    assert sum(found.stacks.values()) == figures["samples"] > 10
    assert len(found.split.keys() & ABOUT.keys()) > 3
    assert any(part.startswith(SYSTEM_CALLS) for part in found.split)
    assert {f"{DATABASE}, intake", f"{DATABASE}, settle"} <= found.split.keys()
    assert found.split.get("other", 0.0) < whole * 0.05
    assert figures["logBytesPerEvent"] > 300  # the payload alone
    assert depths.keys() >= {"intake", "recorder", "in flight"}
    assert found.allocations.keys() >= {"engine.intake.intake", "engine.wire.connection"}
    assert figures["blocksTakenPerEvent"] == pytest.approx(
        sum(found.allocations.values()), rel=0.02
    )


def test_the_database_is_told_by_what_its_processes_are_for() -> None:
    roles = {
        1: role_of("client backend", "angarium intake"),
        2: role_of("walwriter", ""),
        3: role_of("client backend", "angarium-bench"),
        4: role_of("logger", ""),
    }
    assert roles == {1: "intake", 2: "log writer", 3: "measuring", 4: "other"}
    before = Reading({1: (1.0, 0.5), 2: (0.5, 0.25), 5: (9.0, 9.0)}, roles, 1000)
    after = Reading(
        {1: (3.0, 1.0), 2: (0.5, 0.25), 3: (1.0, 1.0), 4: (0.25, 0.0), 5: (0.0, 0.0)}, roles, 1500
    )
    found = spent(before, after)
    assert found.by_role == {"intake": 2.0, "log writer": 0.0, "other": 0.25}
    assert (found.system_s, found.wal) == (0.5, 500)


def test_a_server_of_another_kind_is_not_profiled(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="cannot be profiled"):
        Profile(Service(tmp_path, program="bench.served"))


@pytest.mark.parametrize(
    ("file", "name"),
    [
        (
            str(Path(__file__).parent.parent.parent / "engine/intake/intake.py"),
            "engine.intake.intake",
        ),
        (str(Path(__file__).parent.parent.parent / "api/door/__init__.py"), "api.door"),
        ("/x/lib/python3.11/site-packages/trio/_core/_run.py", "trio._core._run"),
        ("/usr/lib/python3.11/asyncio/events.py", "asyncio.events"),
        ("<string>", "<string>"),
    ],
)
def test_a_file_is_told_as_its_module(file: str, name: str) -> None:
    assert module(file) == name
