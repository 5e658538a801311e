"""The profile of a run: a server samples itself, and its CPU between two instants is split by stage."""

import json
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from bench.profiling.postgres import Reading, read, spent
from bench.profiling.stages import DATABASE, by_module, split
from bench.results import Measurement
from bench.service import Service

PROGRAM = "bench.watched"
_WAIT_S = 10.0  # for a line that comes twice a second, on a busy machine
# Stages and modules with a smaller share of the CPU are combined in `other`: a thousand samples cannot
# distinguish such a share from zero.
LEAST_SHARE = 0.002
_TAIL = 4096  # bytes: at least the last line of the server's file


@dataclass(frozen=True)
class Profiled:
    """A profile per event: CPU microseconds by stage and by module, and other figures."""

    split: dict[str, float]
    modules: dict[str, float]
    stacks: dict[str, int]
    figures: dict[str, float] = field(default_factory=dict)

    def into(self, measurement: Measurement) -> None:
        measurement.split, measurement.modules = self.split, self.modules
        measurement.stacks = self.stacks
        measurement.figures |= self.figures


class Profile:
    """The profile of a service. Create it before the service starts, because it makes the service run
    `bench.watched` instead of its usual program. `begin` and `end` can be repeated."""

    def __init__(self, service: Service) -> None:
        if service.program not in ("api.cli", PROGRAM):
            raise ValueError(f"a server that runs as {service.program} cannot be profiled")
        if service.process is not None:
            raise ValueError("the server runs already")
        self._service = service
        self._samples = service.folder / "profile.jsonl"
        self._watch = service.folder / "watch.jsonl"
        service.program = PROGRAM
        service.settings |= {"BENCH_PROFILE": str(self._samples), "BENCH_WATCH": str(self._watch)}
        self._began: dict[str, Any] = {}
        self._database: Reading | None = None

    def depths(self) -> dict[str, int]:
        """Return the last depths of queues."""
        try:
            with self._watch.open("rb") as file:
                file.seek(max(0, self._watch.stat().st_size - _TAIL))
                lines = file.read().splitlines()
            return dict(json.loads(lines[-1]).get("depths", {}))
        except (OSError, IndexError, ValueError):
            return {}  # no line yet, or an incomplete one

    def begin(self) -> None:
        self._database = read(self._service.folder, self._service.database_pid())
        self._began = self._line(time.time())

    def end(self, events: int) -> Profiled:
        """Return the cost per event since `begin`."""
        assert self._database is not None
        ended = self._line(time.time())
        database = spent(self._database, read(self._service.folder, self._service.database_pid()))
        stacks: Counter[str] = Counter()
        for line in lines(self._samples):
            if self._began["at"] < line["at"] <= ended["at"]:
                stacks.update(line["stacks"])
        if not stacks:
            raise ValueError("the run used too little CPU to be profiled")
        per_event = 1e6 / events
        delta = _since(self._began, ended)
        server = (delta("userS") + delta("systemS")) * per_event
        parts = {name: share * server for name, share in split(stacks).items()}
        parts |= {
            f"{DATABASE}, {role}": seconds * per_event
            for role, seconds in database.by_role.items()
            if seconds
        }
        return Profiled(
            _rounded(parts),
            _rounded({name: share * server for name, share in by_module(stacks).items()}),
            dict(stacks),
            {
                "samples": stacks.total(),
                "serverMicrosPerEvent": round(server, 2),
                "serverSystemMicrosPerEvent": round(delta("systemS") * per_event, 2),
                "databaseMicrosPerEvent": round(sum(database.by_role.values()) * per_event, 2),
                "databaseSystemMicrosPerEvent": round(database.system_s * per_event, 2),
                "collectorMicrosPerEvent": round(delta("gcS") * per_event, 3),
                "blocksKeptPerEvent": round(delta("blocks") / events, 2),
                "logBytesPerEvent": round(database.wal / events, 1),
            },
        )

    def _line(self, at: float) -> dict[str, Any]:
        """Wait until the server has written samples at the time `at` or later; return the first such
        line."""
        give_up = time.monotonic() + _WAIT_S
        while time.monotonic() < give_up:
            for line in lines(self._samples):
                if line["at"] >= at:
                    return line
            time.sleep(0.05)
        raise RuntimeError("the server does not write its profile")


class Observed(Service):
    """A server that `profile` profiles."""

    def __init__(self, settings: Mapping[str, str] | None = None) -> None:
        super().__init__(settings=settings)
        self.profile = Profile(self)


def lines(path: Path) -> list[dict[str, Any]]:
    """Return the complete lines of a file. The last line can be incomplete while the server writes."""
    try:
        text = path.read_text()
    except FileNotFoundError:
        return []
    return [json.loads(line) for line in text.split("\n")[:-1]]


def _since(before: dict[str, Any], after: dict[str, Any]) -> Callable[[str], float]:
    return lambda name: float(after[name] - before[name])


def _rounded(parts: dict[str, float]) -> dict[str, float]:
    whole = sum(parts.values())
    kept = {name: part for name, part in parts.items() if part >= whole * LEAST_SHARE}
    rest = whole - sum(kept.values())
    ordered = sorted(kept.items(), key=lambda item: -item[1])
    return {name: round(part, 2) for name, part in ordered} | (
        {"other": round(rest, 2)} if round(rest, 2) > 0 else {}
    )
