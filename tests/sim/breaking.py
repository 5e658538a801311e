"""The calls between two modules that can raise in a history, before or after the called method's work.

A strike makes one call raise. It names the called method, such as `directory.arrived`, and the number of
the call among all calls of this method in the history.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from inspect import iscoroutinefunction
from typing import TYPE_CHECKING, Any, TypeVar
from unittest import mock

from engine.actors import directory
from engine.actors.actor import DestinationActor

if TYPE_CHECKING:
    from tests.sim.plan import Plan
    from tests.sim.process import Process

T = TypeVar("T")

# The methods that other modules call. Methods that only count or append (`began`, `enqueue`, `call_at`)
# are left out, because they fail only if memory is exhausted.
HAND_OVERS = {
    "actor": "attempt_ended begin begin_reading committed leave refused reread restoration tell"
    " tell_answer tell_arrived tell_config turn",
    "announcer": "dead disabled snapshots",
    "attempts": "allowance ended leave pass_on recorded used",
    "awaited": "settled",
    "directory": "activate_dormant arrived awaken configure passivate_idle progress recover reread rouse"
    " rows_written stir_all take_forgettable tell",
    "entries": "enter",
    "flight": "__call__",
    "ingest": "submit",
    "intake": "submit",
    "loader": "changed_all load",
    "models": "put_destination put_rule remove_rule",
    "own_events": "announce announce_once",
    "projection": "destination rule rule_removed",
    "readers": "submit submit_patient submit_snapshot",
    "recorder": "mark put write_snapshot",
    "router": "known own_route route",
    "runner": "finished nudge",
    "sender": "forget send",
    "settled_replays": "take",
    "store.backlog": "backlog count_waiting due_destinations first_retry last_seqs read_dead read_due"
    " read_named read_queue read_snapshots",
    "store.configuration": "load",
    "store.dead": "dead",
    "store.destinations": "account_name create find get open_account replace",
    "store.intake": "accept check draw forget_backlog",
    "store.jobs": "cancel create get",
    "store.large_intake": "accept",
    "store.log": "entry write",
    "store.ownership": "confirm",
    "store.replays": "abandon all_legs complete count counted enqueue fail heads order order_states"
    " outstanding pass_over read turn undelivered unfinished waiting",
    "store.requeue": "discard requeue",
    "store.rules": "count create find get remove replace",
    "store.settle": "settle",
}  # fmt: skip
# The last statement of these methods is the only one that changes something. So if such a method raises,
# nothing has changed yet.
ONLY_BEFORE = frozenset(
    {"directory.activate_dormant", "directory.take_forgettable", "recorder.put"}
    | {"readers.submit", "readers.submit_patient", "readers.submit_snapshot"}
    | {"sender.send"}  # raising after it would lose the receiver's answer
)
# The first statement of these methods changes something and cannot raise. So if such a method raises, the
# change is made.
ONLY_AFTER = frozenset(
    {"actor.attempt_ended", "actor.committed", "actor.refused", "actor.turn", "attempts.ended"}
)
# Methods whose argument is the result of a read, or None if the read has failed. With None, they do
# nothing that can raise.
READS = ("begin", "tell_answer")
POINTS = tuple(f"{part}.{name}" for part, names in HAND_OVERS.items() for name in names.split())
# The calls that carry deliveries or outcomes. Half of the planned errors (strikes) hit a call of this
# list. The other half can hit any call.
CARRYING = (
    "directory.arrived", "flight.__call__", "recorder.mark", "recorder.put", "recorder.write_snapshot",
    "store.intake.accept", "store.settle.settle",
)  # fmt: skip


class PlannedCrash(Exception):  # noqa: N818 - it is no error: the plan says so
    """The error that a call raises when the plan says so."""


def sides(point: str) -> tuple[str, ...]:
    """Return the sides of a call at which it can raise."""
    if point in ONLY_BEFORE:
        return ("before",)
    return ("after",) if point in ONLY_AFTER else ("before", "after")


def armed(process: "Process", part: str, owner: T) -> T:
    """Let the calls of `owner` raise when the plan says so."""
    if process.world.breaks:
        for name in HAND_OVERS.get(part, "").split():
            call = getattr(owner, name)
            setattr(owner, name, breaking(process, f"{part}.{name}", call))
    return owner


def breaking(process: "Process", point: str, call: Callable[..., Any]) -> Callable[..., Any]:
    if iscoroutinefunction(call):

        async def passed_async(*arguments: Any, **named: Any) -> Any:
            with _struck(process, point):
                return await call(*arguments, **named)

        return passed_async

    def passed(*arguments: Any, **named: Any) -> Any:
        with _struck(process, point):
            return call(*arguments, **named)

    return passed


@contextmanager
def _struck(process: "Process", point: str) -> Iterator[None]:
    when = process.breaks(point)
    if when == "before":
        raise PlannedCrash(point)
    yield
    if when == "after":
        raise PlannedCrash(point)


class BreakingActor(DestinationActor):
    __slots__ = ()


def _method(name: str) -> Callable[..., Any]:
    real = getattr(DestinationActor, name)

    def method(self: BreakingActor, *arguments: Any, **named: Any) -> Any:
        process: Any = self._context.sender
        if name in READS and arguments[-1] is None:
            return real(self, *arguments, **named)
        with _struck(process, f"actor.{name}"):
            return real(self, *arguments, **named)

    return method


for _name in HAND_OVERS["actor"].split():
    setattr(BreakingActor, _name, _method(_name))


def breaking_actors(plan: "Plan") -> AbstractContextManager[object]:
    """Let the calls of actors raise when the plan says so."""
    if not any(strike.kind == "break" for strike in plan.strikes):
        return nullcontext()
    return mock.patch.object(directory, "DestinationActor", BreakingActor)
