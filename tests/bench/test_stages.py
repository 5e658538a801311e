"""The stages of a profile. Every module belongs to a stage. A call stack counts for the stage of its
innermost module. System calls are stages of their own, one for each kind of peer."""

import ast
import dis
import inspect
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from trio._core import _io_epoll

from bench.profiling.profile import lines
from bench.profiling.sampler import call_at
from bench.profiling.stages import (
    ABOUT,
    SHARED,
    STAGES,
    by_module,
    part_of,
    prefix_of,
    split,
    system_call_of,
)

ROOT = Path(__file__).parent.parent.parent
TRIO = "trio._core._run:unrolled_run"
REACTOR = f"{TRIO};engine.runtime.reactor:Reactor.run;engine.runtime.reactor:Reactor._pass"


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def modules(package: str) -> list[str]:
    return sorted(module_of(path) for path in (ROOT / package).rglob("*.py"))


@pytest.mark.parametrize("package", ["engine", "api", "storage"])
def test_every_module_has_a_stage(package: str) -> None:
    without = [
        name
        for name in modules(package)
        if prefix_of(name, STAGES) is None and prefix_of(name, SHARED) is None
    ]
    assert not without


def test_every_name_in_the_tables_is_a_module_or_begins_one() -> None:
    there = [name for package in ("engine", "api", "storage", "bench") for name in modules(package)]
    libraries = {"asyncio", "asyncpg", "trio", "trio_asyncio"}
    names = {*STAGES, *SHARED} - libraries
    assert not [name for name in names if not any(prefix_of(each, {name: 0}) for each in there)]
    assert {*STAGES.values(), *SHARED.values()} <= ABOUT.keys()


def test_the_path_of_an_event_has_its_own_stages() -> None:
    path = {
        "api.door.connection": "parse",
        "api.admission": "parse",
        "engine.ingest.ingest": "parse",
        "engine.routing.router": "route",
        "engine.filters.program": "route",
        "engine.intake.queue": "commit",
        "storage.intake.statement": "commit",
        "engine.actors.actor": "actors",
        "engine.core.machine": "actors",
        "engine.wire.signing": "sign",
        "engine.wire.connection": "send",
        "engine.recording.recorder": "settle",
        "storage.recording.settle": "settle",
        "api.resources.events": "control",
    }
    assert {name: part_of([TRIO, f"{name}:work"]) for name in path} == path


def test_every_stage_is_explained() -> None:
    told = (ROOT / "bench/README.md").read_text()
    assert not [stage for stage in ABOUT if f"`{stage}`" not in told]


@pytest.mark.parametrize(
    ("stack", "part"),
    [
        (TRIO, "loop"),
        ("threads", "threads"),
        (f"{REACTOR};api.door.connection:Connection.ready", "parse"),
        (f"{REACTOR};api.door.connection:Connection.ready;json.decoder:decode", "parse"),
        (
            f"{REACTOR};engine.wire.connection:Connection.send;engine.runtime.clock:Clock.now",
            "send",
        ),
        (f"{REACTOR};engine.wire.connection:Connection.ready;engine.wire.signing:sign", "sign"),
        (
            f"{TRIO};engine.intake.intake:Intake.run;storage.database.connection:Connection.fetch",
            "commit",
        ),
        (f"{TRIO};engine.recording.recorder:Recorder.run;storage.database.columns:rows", "settle"),
        (
            f"{TRIO};storage.database.crossing:Crossing._read;!self._protocol.data_received",
            "driver",
        ),
        (f"{TRIO};trio_asyncio._base:run;asyncio.events:Handle._run", "driver"),
        (f"{REACTOR};!registrations.get", "loop"),
        (f"{TRIO};!self._epoll.poll", "system calls, waiting"),
        (
            f"{TRIO};engine.runtime.reactor:Reactor.run;!poll",
            "system calls, waiting",
        ),
        (
            f"{REACTOR};engine.wire.connection:Connection._flush;!self._sock.send",
            "system calls, receivers",
        ),
        (
            f"{REACTOR};api.door.transport:PlainTransport.read;!self.sock.recv",
            "system calls, clients",
        ),
        (
            f"{TRIO};asyncio.selector_events:_SelectorSocketTransport.write;!self._sock.send",
            "system calls, database",
        ),
        (f"{TRIO};engine.core.machine:Machine.apply;!self._queue.send", "actors"),
    ],
)
def test_a_stack_counts_as_its_innermost_stage_or_the_call_it_ends_in(
    stack: str, part: str
) -> None:
    assert part_of(stack.replace(TRIO, "trio._core._run:unrolled_run").split(";")) == part


def test_shares_are_of_all_samples() -> None:
    route = f"{TRIO};engine.routing.router:Router.route"
    stacks = {route: 3, f"{route};a:b": 1}
    assert split(stacks) == {"route": 1.0}
    assert by_module({**stacks, TRIO: 4}) == {"engine.routing.router": 0.5, "trio": 0.5}


@pytest.mark.parametrize(
    ("module", "path"),
    [
        ("engine.runtime.reactor", "engine/runtime/reactor.py"),
        ("engine.wire.connection", "engine/wire/connection.py"),
        ("api.door.transport", "api/door/transport.py"),
        ("storage.database.crossing", "storage/database/crossing.py"),
        ("trio._core._io_epoll", inspect.getfile(_io_epoll)),
    ],
)
def test_system_calls_are_found_where_they_are_made(module: str, path: str) -> None:
    source = ast.parse((ROOT / path).read_text())
    called = {ast.unparse(each.func) for each in ast.walk(source) if isinstance(each, ast.Call)}
    assert any(system_call_of([f"{module}:work", f"!{each}"]) for each in called)


def test_an_instruction_is_told_by_what_it_calls_as_it_is_written() -> None:
    def work(sock: socket.socket, many: list[int]) -> int:
        return len(many) + sum(
            each
            for each in many
        ) + hash(sock.recv(10))  # fmt: skip

    code = work.__code__
    told = {call_at(code, each.offset) for each in dis.get_instructions(code)}
    assert told >= {"len", "sum", "hash", "sock.recv"}
    assert call_at(code, -1) == ""


def test_a_process_samples_itself(tmp_path: Path) -> None:
    program = f"""
import sys, time
from bench.profiling.sampler import Sampler
def burn():
    end = time.process_time() + 0.3
    while time.process_time() < end:
        sum(range(50))
sampler = Sampler({str(tmp_path / "samples")!r})
sampler.start()
burn()
sampler.stop()
"""
    (tmp_path / "burning.py").write_text(program)
    path = [str(ROOT), os.environ.get("PYTHONPATH", "")]
    subprocess.run(
        [sys.executable, tmp_path / "burning.py"],
        check=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(path)},
        timeout=60,
    )
    (line,) = lines(tmp_path / "samples")
    burning = {stack: count for stack, count in line["stacks"].items() if ":burn" in stack}
    assert sum(burning.values()) > 10
    assert any(stack.endswith(":burn;!sum") for stack in burning)
