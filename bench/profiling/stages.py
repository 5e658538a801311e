"""The stages of an event, and the functions that split samples of CPU by stage.

A table assigns modules to stages. A sample counts for the stage of the innermost frame whose module is in
the table. Shared modules and libraries are not in this table: their work counts for their caller's stage.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

from bench.profiling.sampler import CALL, ELSEWHERE

Stage = Literal[
    "parse",
    "route",
    "commit",
    "actors",
    "make",
    "sign",
    "send",
    "settle",
    "driver",
    "control",
    "loop",
    "threads",
    "measuring",
]

ABOUT: Mapping[Stage, str] = {
    "parse": "the door, credentials and limits, decoding, schemas, and the answers to requests",
    "route": "rules, filters, and the resulting deliveries",
    "commit": "groups of events, their statement's arguments, and informing the actors",
    "actors": "mailboxes, turns, and the core that decides",
    "make": "requests other than the plain event: transforms, templates, files",
    "sign": "signatures",
    "send": "connections to receivers, requests, and judging the answers",
    "settle": "groups of outcomes, and their statement's arguments",
    "driver": "asyncpg and trio-asyncio outside of Angarium's calls: arriving answers",
    "control": "the control plane, upkeep, and other work besides events",
    "loop": "trio's scheduler, the reactor, timers",
    "threads": "threads other than the main one",
    "measuring": "the profile itself",
}
SYSTEM_CALLS = "system calls"  # followed by the peer
DATABASE = "PostgreSQL"  # followed by the purpose of the database's process

# The stages by prefix of a module's name. The longest prefix of the name decides. A test fails if a
# module of `engine/`, `api/` or `storage/` has no stage.
STAGES: Mapping[str, Stage] = {
    "api.door": "parse",
    "api.admission": "parse",
    "api.ingestion": "parse",
    "api.judgement": "parse",
    "api.bodies": "parse",
    "api.budget": "parse",
    "api.envelope": "parse",
    "api.shares": "parse",
    "engine.ingest": "parse",
    "engine.submission": "parse",
    "engine.plans": "parse",
    "engine.schemas": "parse",
    "engine.routing.judging_time": "parse",
    "engine.files.attaching": "parse",
    "engine.files.attachments": "parse",
    "storage.intake.store": "parse",
    "engine.routing": "route",
    "engine.model.read_models": "route",
    "engine.filters": "route",
    "engine.intake": "commit",
    "engine.recording.requeue": "commit",
    "engine.recording.throughput": "commit",
    "storage.intake": "commit",
    "storage.dead_letters.requeue": "commit",
    "engine.actors": "actors",
    "engine.core": "actors",
    "engine.replay": "actors",
    "storage.backlog": "actors",
    "storage.replays": "actors",
    "engine.outbound": "make",
    "engine.transforms": "make",
    "engine.templates": "make",
    "engine.files": "make",
    "storage.files.blobs": "make",
    "storage.files.spool": "make",
    "engine.wire.signing": "sign",
    "engine.wire": "send",
    "engine.core.minutes": "settle",
    "engine.recording.recorder": "settle",
    "engine.recording.trouble": "settle",
    "engine.recording.announcer": "settle",
    "storage.recording": "settle",
    "storage.counters.minutes": "settle",
    "storage.log.responses": "settle",
    "engine.control": "control",
    "engine.runtime.background": "control",
    "engine.model.complaints": "control",
    "engine.log.delivery_log": "control",
    "engine.log.visible_log": "control",
    "engine.routing.preview": "control",
    "engine.runtime.pressure": "control",
    "engine.log.observability": "control",
    "engine.ingest.own_events": "control",
    "engine.model.announcements": "control",
    "engine.settings": "control",
    "engine.model.configuration": "control",
    "engine.model.version": "control",
    "engine.nodes": "control",
    "engine.peers": "control",
    "engine.model.setting_values": "control",
    "api": "control",
    "storage": "control",
    "bench": "measuring",
}
# The work of these modules counts for the stage of the calling module. If no calling module has a stage,
# the work counts for the stage in this table.
SHARED: Mapping[str, Stage] = {
    "engine": "control",  # the package itself
    "engine.runtime.clock": "loop",
    "engine.model.errors": "control",
    "engine.model.identity": "commit",
    "engine.model.instants": "control",
    "engine.model.json_members": "parse",
    "engine.ports": "commit",
    "engine.runtime.reactor": "loop",
    "engine.runtime.tally": "control",
    "engine.runtime.timers": "loop",
    "engine.runtime.fair_semaphore": "loop",
    "storage.database": "driver",
    "storage.ownership": "control",
    "asyncio": "driver",
    "asyncpg": "driver",
    "trio_asyncio": "driver",
    "trio": "loop",
}
_OURS: Mapping[str, None] = dict.fromkeys(("api", "engine", "storage", "bench"))
# The peer of a system call, by the calling module.
_SIDES: Sequence[tuple[str, str]] = (
    ("api.door", "clients"),
    ("engine.wire", "receivers"),
    ("storage", "database"),
    ("asyncio", "database"),
    ("trio_asyncio", "database"),
    ("trio", "waiting"),
    ("engine.runtime.reactor", "waiting"),
)
_OF_SOCKETS = re.compile(
    r"(^|\.)\w*(sock|socket|poll)\w*\."
    r"(send|sendall|sendmsg|sendto|recv|recv_into|accept|connect|connect_ex|poll|register|modify"
    r"|unregister|close|shutdown|setblocking|setsockopt|getsockopt)$"
)
# Methods of sockets and selectors that modules store in variables.
_BY_NAME: Mapping[str, frozenset[str]] = {
    "engine.runtime.reactor": frozenset({"poll"}),
    "engine.wire.connection": frozenset({"self._recv", "self._send"}),
}


def stage_of(stack: Sequence[str]) -> Stage:
    """Return the stage of a stack. The stack has frames `module:function`, the outermost first."""
    if stack[0] == ELSEWHERE:
        return "threads"
    fallback: Stage | None = None
    for frame in reversed(stack):
        if frame.startswith(CALL):
            continue
        module = frame.partition(":")[0]
        own, shared = prefix_of(module, STAGES), prefix_of(module, SHARED)
        if own is not None and (shared is None or len(own) > len(shared)):
            return STAGES[own]
        if shared is not None and (fallback is None or fallback == "loop"):
            fallback = SHARED[shared]
    return fallback or "loop"


def module_of(stack: Sequence[str]) -> str:
    """Return Angarium's innermost module in a stack; if there is none, the innermost library."""
    library = None
    for frame in reversed(stack):
        name = frame.partition(":")[0]
        if prefix_of(name, _OURS):
            return name
        if library is None and (found := prefix_of(name, SHARED)):
            library = found
    return library or "python"


def system_call_of(stack: Sequence[str]) -> str | None:
    """If a sampled stack ends with a system call for sockets, return the program with which the calling
    module communicates, such as `receivers`. Otherwise return None."""
    if len(stack) < 2 or not stack[-1].startswith(CALL):
        return None
    module, called = stack[-2].partition(":")[0], stack[-1].removeprefix(CALL)
    if not (_OF_SOCKETS.search(called) or called in _BY_NAME.get(module, ())):
        return None
    for prefix, side in _SIDES:
        if prefix_of(module, {prefix: 0}):
            return side
    return "other"


def split(stacks: Mapping[str, int]) -> dict[str, float]:
    """Return the share of each name that `part_of` returns."""
    return _shares((part_of(stack.split(";")), count) for stack, count in stacks.items())


def by_module(stacks: Mapping[str, int]) -> dict[str, float]:
    """Return the share of each module in the samples. The time of a system call counts for the module
    that makes the call."""
    return _shares((module_of(stack.split(";")), count) for stack, count in stacks.items())


def part_of(stack: Sequence[str]) -> str:
    """Return the name under which the profile counts a sampled stack. If the stack ends with a system
    call for sockets, the name is `system calls, <program>`, with the result of `system_call_of`.
    Otherwise the name is the stack's stage."""
    side = system_call_of(stack)
    return stage_of(stack) if side is None else f"{SYSTEM_CALLS}, {side}"


def _shares(counted: Iterable[tuple[str, int]]) -> dict[str, float]:
    sums: dict[str, int] = {}
    for name, count in counted:
        sums[name] = sums.get(name, 0) + count
    whole = sum(sums.values())
    return {name: count / whole for name, count in sorted(sums.items())}


def prefix_of(module: str, table: Mapping[str, object]) -> str | None:
    """Return the longest name in `table` that covers the module.

    `api.ingestion` covers the module of this name, the modules in a package of this name, and modules
    such as `api.ingestion_routes`.
    """
    found = [
        prefix
        for prefix in table
        if module == prefix or module.startswith((prefix + ".", prefix + "_"))
    ]
    return max(found, key=len, default=None)
