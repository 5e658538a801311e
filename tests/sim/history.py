"""The run of a history: a phase with faults, then a quiet phase in which everything must drain."""

import sys
from typing import Any
from unittest import mock

import trio

from api.door import conversation
from engine.actors.attempts import LOOK_EVERY_S, UNHEARD_S
from engine.core.vocabulary import DeliveryStatus, DestinationStatus
from engine.ports import OwnershipLostError
from engine.replay.job import UNFINISHED
from tests.sim.breaking import PlannedCrash, breaking_actors
from tests.sim.callers import Callers
from tests.sim.endpoints import Endpoints
from tests.sim.faults import Faults
from tests.sim.keeper import Keeper
from tests.sim.links import Links, unread
from tests.sim.network import Network
from tests.sim.plan import Plan, draw
from tests.sim.store import Database
from tests.sim.tenants import create_workspaces
from tests.sim.trace import History, Quiet
from tests.sim.virtual import run_virtually
from tests.sim.wishes import Wishes
from tests.sim.world import World

LOOK_S = 2.0  # between two checks that everything has drained
# The time to drain, in addition to the waits of the retry schedules. It is enough for time-outs, for the
# probes of open circuits, and for idle actors to leave memory.
DRAIN_S = 400.0
STOP_S = 60.0  # longest time in which a process ends in order
_WAITING = (DeliveryStatus.PENDING, DeliveryStatus.RETRYING)
_PLANNED = (PlannedCrash, OwnershipLostError)


def run(seed: int) -> History:
    return run_plan(draw(seed))


def run_plan(plan: Plan) -> History:
    heard: list[str] = []
    breaks = any(strike.kind == "break" for strike in plan.strikes)

    def hear(level: str, entry: dict[str, Any]) -> None:
        del level
        error = entry.get("exc_info")
        if error is True:
            error = sys.exc_info()[1]
        if _is_planned(error) or entry["event"] == "child.given_up":
            return
        if breaks and entry["event"] == "attempt.never_ended":
            return
        heard.append(f"{entry['event']}: {error!r}" if error is not None else str(entry))

    with mock.patch.object(conversation, "_unread", unread), breaking_actors(plan):
        return run_virtually(lambda: _History(plan, heard).run(), plan.seed, hear)


def _is_planned(error: Any) -> bool:
    if isinstance(error, ExceptionGroup):
        return all(map(_is_planned, error.exceptions))
    return isinstance(error, _PLANNED) or (error is not None and _is_planned(error.__cause__))


class _History:
    def __init__(self, plan: Plan, heard: list[str]) -> None:
        self._plan = plan
        self._heard = heard
        self._world = world = World(plan)
        world.database = Database(world.now)
        world.database.tables.on_configured = world.configured
        world.database.tables.on_ruled = world.ruled
        world.network = Network(world)
        world.endpoints = Endpoints(world)
        self._faults = Faults(world)
        self._keeper = Keeper(world, self._faults)
        self._callers = Callers(world)
        self._wishes = Wishes(world)
        world.links = Links(world)
        create_workspaces(world.database.tables, plan.workspaces)

    async def run(self) -> History:
        world = self._world
        async with trio.open_nursery() as nursery:
            world.nursery = nursery
            self._keeper.boot_missing()
            self._faults.start()
            await self._happen()
            await self._calm_down()
            await self._end()
            nursery.cancel_scope.cancel()
        return History(
            self._plan.seed,
            tuple(world.facts),
            world.database.rows(),
            tuple(world.broken + self._heard),
            world.passed_s,
            self._plan.bounds.passivate_after,
        )

    async def _happen(self) -> None:
        plan, start = self._plan, self._world.nursery.start_soon
        things: list[tuple[float, Any, tuple[Any, ...]]] = [
            (each.at, self._wishes.make, (number, each))
            for number, each in enumerate(plan.destinations)
        ]
        things += [(each.at, self._callers.post, (each,)) for each in plan.posts]
        things += [(each.at, self._wishes.wish, (each,)) for each in plan.wishes]
        for at, does, arguments in sorted(things, key=lambda each: each[0]):
            if at > plan.span_s:
                break
            await trio.sleep_until(at)
            start(does, *arguments)
        await trio.sleep_until(plan.span_s)

    async def _calm_down(self) -> None:
        world = self._world
        world.calm = True
        world.tell(Quiet)
        for process in self._keeper.living:
            process.wake()
        self._keeper.boot_missing()
        await self._wishes.enable_all()
        longest_s = 0.0
        for record in world.database.tables.destinations.values():
            waits_s = sum(record.retry_schedule_s) + 3 * max(record.retry_schedule_s, default=60)
            longest_s = max(longest_s, 1.3 * waits_s)
        unheard_s = UNHEARD_S + LOOK_EVERY_S if world.breaks else 0.0
        until = trio.current_time() + DRAIN_S + unheard_s + longest_s
        left = self._left()
        while left and trio.current_time() < until:
            await trio.sleep(LOOK_S * world.pace)
            left = self._left()
        world.broken += left

    def _left(self) -> list[str]:
        """Return a text for each thing that has not drained."""
        tables = self._world.database.tables
        left = [
            f"callers of process {process.number} wait for ever"
            for process in self._keeper.living
            if process.door.asked
        ]
        if self._world.under_way:
            left.append(f"{self._world.under_way} statements are under way for ever")
        disabled = {
            key
            for key, record in tables.destinations.items()
            if record.status is DestinationStatus.DISABLED
        }
        held = {identifier for _, identifier in disabled}
        owed = set()
        for row in tables.deliveries.values():
            if row.status in _WAITING:
                owed.add(row.destination)
                if row.destination not in held:
                    left.append(f"delivery {row.id} is {row.status.name} for ever")
        left += [
            f"destination {identifier} has a backlog row for ever"
            for _, identifier in tables.backlog
            if identifier not in owed | held  # disabled: read once enabled
        ]
        if self._plan.machines:
            left += self._keeper.misplaced()
        waits = {environment for environment, _ in disabled}  # a job waits for its destinations
        left += [
            f"replay job {job.id} is {job.status.name} for ever"
            for job in tables.replays.jobs.values()
            if job.status in UNFINISHED and job.environment not in waits
        ]
        return left

    async def _end(self) -> None:
        world = self._world
        world.over = True
        for process in self._keeper.living:
            world.nursery.start_soon(process.stop)
        with trio.move_on_after(STOP_S):
            await self._keeper.wait_none()
        for process in self._keeper.living:
            world.broken.append(f"process {process.number} does not end")
            process.kill()
