"""One process of the service: the engine's real parts under the real supervisor, wired like
`api.composition`.

It can be killed between any two steps. After that, it has no effect.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import trio

from api.composition.groups import ALWAYS, child
from engine.actors.attempts import Attempts
from engine.actors.directory import Directory
from engine.actors.memory import memory_of
from engine.actors.supervisor import Child, GivenUpError, Restart, Supervisor
from engine.actors.waker import Waker
from engine.control.commands import CommandQueue
from engine.control.customers import QuotaCheck
from engine.control.deliveries import DeliveryCommands
from engine.control.destinations import DestinationCommands, Disabled
from engine.control.dlq import DeadLetterCommands
from engine.control.loading import Loader
from engine.control.projection import ModelProjection
from engine.control.replays import ReplayCommands
from engine.control.rules import RuleCommands
from engine.control.writer import ConfigurationWriter
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Outcome
from engine.ingest.ingest import Ingest
from engine.ingest.own_events import OwnEvents
from engine.intake.intake import Intake
from engine.intake.intakes import Intakes
from engine.model.identity import Identity
from engine.model.read_models import Models
from engine.nodes.liveness import BEAT_S
from engine.nodes.parts import WHOLE, OwnPart, WorkerPart
from engine.nodes.placement import MoveWatch
from engine.plans.plans import Plans, Visibility
from engine.ports import OwnershipLostError, StoreAwayError, Transmission
from engine.recording.announcer import Announcer
from engine.recording.group import SettledReplays
from engine.recording.outcome_queue import OutcomeQueue
from engine.recording.recorder import Recorder
from engine.replay.runner import ReplayRunner
from engine.routing.backfill import DestinationRoutes
from engine.routing.judging_time import JudgingTime
from engine.routing.router import Router
from engine.runtime.background import Background
from engine.runtime.clock import LOOK_EVERY_S, Clock
from engine.runtime.wake import Wake
from engine.settings import Settings
from engine.submission.key_lookup import KeyLookup
from engine.templates.catalog import Catalog, read_catalog
from tests.sim.breaking import PlannedCrash, armed, breaking, sides
from tests.sim.door import Door
from tests.sim.endpoints import Outbound
from tests.sim.faults import Faults
from tests.sim.line import Line
from tests.sim.news import News
from tests.sim.parts import StallingDispatcher, StallingTimers, crashing
from tests.sim.plan import AUTO_MOST
from tests.sim.trace import Ended, Fault, Killed, Ready

if TYPE_CHECKING:
    from tests.sim.world import World

CATALOG: Catalog = read_catalog()
START_AGAIN_S = 1.0  # pause after a start that found no database
WATCH_S = 2.0  # between two checks of the right to write
WITHOUT_TAKEOVER = 10  # factor on this pause if no other process ever takes over
LARGE_ROWS = 4  # rows of a submission for the large intake: batches have 2 to 6 events
ARRIVALS_AT_ONCE = 2  # deliveries: groups here are small
MARK_AFTER = 3  # settlements: destinations here have few
FLUSH_S = 3.0  # part of the grace time, as in `api.composition`
GRACE_S = 25.0
HAND_OVER_S, LAST_REQUESTS_S = 5.0, 2.0  # of a hand-over, as in `api.composition`


class Process:
    """One process. `stalled_until`: the instant of trio's clock until which the process stalls. `group`:
    the number of the parent process that restarts this process."""

    def __init__(
        self,
        world: "World",
        faults: Faults,
        number: int,
        clock_s: float,
        part: WorkerPart = WHOLE,
        group: int = 0,
        machine: str = "",
    ) -> None:
        self.world = world
        self.part = part
        self.group = group
        self.machine = machine
        self.release = world.links.release()
        self.handed_over = False  # it gave its part to another machine, in order
        self.faults = faults
        self.number = number
        self.clock_s = clock_s
        self.drift_s = 0.0  # how far its wall clock has jumped since its start
        self.dead = False
        self.ready = self.stopping = self.cut = self.crash_next = self.break_next = False
        self.broken = False  # a hand-over raised: the process may give up
        self.stalled_until = 0.0
        self.held: list[Callable[[], None]] = []  # calls that wait until the stall ends
        self._awake = trio.Event()
        self._scope = trio.CancelScope()
        self._opened = trio.Event()
        self._told = False  # it was told to end in order
        self._ending = trio.CancelScope()
        self._build()

    def _build(self) -> None:
        world, plan = self.world, self.world.plan
        chance = world.chance(f"process {self.number}")
        self.settings = Settings.model_validate(
            {name: getattr(plan.bounds, name) for name in plan.bounds.__struct_fields__}
        )
        self.clock = Clock(self.wall)
        now = self.clock.now
        self.identity = Identity(wall_ns=self._wall_ns, bits=chance.getrandbits)
        self.background = Background()
        self.models = armed(self, "models", Models())
        self.stores = stores = world.database.connect(
            self.number, Line(world, self, self.faults), self.part
        )
        self.timers = StallingTimers(self, world.report)
        self.outbound = Outbound(self)
        armed(self, "sender", self)
        for part in stores.__slots__:
            armed(self, f"store.{part}", getattr(stores, part))
        judging = JudgingTime(_never, _never)
        self.router = armed(self, "router", Router(self.models, judging=judging))
        own_events = OwnEvents(self.router, self.identity, now)
        self.own_events = armed(self, "own_events", own_events)
        announcer = None
        if world.own_events:
            announcer = Announcer(self.own_events.announce_once, self.models.destinations.get)
            armed(self, "announcer", announcer)
        settled_replays = armed(self, "settled_replays", SettledReplays())
        outcomes = OutcomeQueue(self.settings.settle_group)
        attempts = Attempts(self.settings.max_in_flight, outcomes.holds)
        armed(self, "attempts", attempts)
        self.recorder = Recorder(
            stores.settle,
            outcomes,
            now,
            relieved=attempts.pass_on,
            replays=settled_replays,
            announcer=announcer,
        )
        armed(self, "recorder", self.recorder)
        forgettable = Wake()
        crashes = "crash" in plan.faults
        own = OwnPart(self.models, self.part)
        self.directory = Directory(
            settings=self.settings,
            find=self.models.destinations.get if self.part.whole else own.destination,
            now=now,
            timers=self.timers,
            sender=self,
            recorder=self.recorder,
            store=stores.backlog,
            attempts=attempts,
            memory=memory_of(self.settings),
            forgettable=forgettable,
            gone=partial(self.background.spawn, self._disable_gone),
            jitter=chance.random,
            make_machine=crashing(self) if crashes else DestinationMachine,
            mark_after=MARK_AFTER,
            dispatcher=StallingDispatcher(self),
        )
        armed(self, "directory", self.directory)
        armed(self, "awaited", self.directory.awaited)
        armed(self, "readers", self.directory.readers)
        self.waker = Waker(
            self.directory, stores.backlog, self.clock, self.settings.passivate_after
        )
        small, large = (
            Intake(
                store,
                self.directory,
                self.identity,
                self.settings,
                now,
                arrivals_at_once=ARRIVALS_AT_ONCE,
                wake=wake,
                owns=None if self.part.whole else own.has,
            )
            for store, wake in ((stores.intake, forgettable), (stores.large_intake, None))
        )
        self.intake = Intakes(small, large, large_rows=LARGE_ROWS)
        armed(self, "intake", self.intake)
        armed(self, "entries", self.intake.entries)
        self.runner = ReplayRunner(
            stores.replays,
            self.intake.entries,
            self.models.destinations.get,
            self.identity,
            now,
            self.own_events.announce,
            lambda: self.intake.statistics().events,
            settled_replays,
            self.directory,
            DestinationRoutes(self.router),
        )
        armed(self, "runner", self.runner)
        self.ingest = Ingest(
            self.router,
            self.intake.submit,
            self.identity,
            self.background.spawn,
            KeyLookup(stores.claims, now),
        )
        armed(self, "ingest", self.ingest)
        self.door = Door(self)
        disabled = None if announcer is None else announcer.disabled
        self._build_control(chance.randbytes, disabled)
        self.supervisor = Supervisor(self.children())

    def _build_control(self, make_bytes: Callable[[int], bytes], disabled: Disabled | None) -> None:
        stores, now = self.stores, self.clock.now
        plans = Plans(self.models)
        quotas = QuotaCheck(stores.configuration.customers, self.models, plans)  # type: ignore[arg-type]  # no session asks it
        actors = self.directory.configure

        def configure(destination: Destination) -> None:
            if self.part.has(destination.workspace):
                actors(destination)

        self.projection = ModelProjection(self.models, configure, CATALOG, AUTO_MOST)
        armed(self, "projection", self.projection)
        self.commands = CommandQueue()
        self.writer = ConfigurationWriter(self.commands, self.projection, self.identity, now)
        self.loader = Loader(stores.configuration, self.projection, self.commands, _never)  # type: ignore[arg-type]  # it has what a history needs
        armed(self, "loader", self.loader)
        self.news = News(self.loader)
        self.rules = RuleCommands(stores.rules, stores.destinations, self.writer, plans, quotas)
        self.destinations = DestinationCommands(
            stores.destinations,
            self.writer,
            plans,
            quotas,
            CATALOG,
            self.rules,
            disabled=disabled,
            make_key=lambda _: make_bytes(32),
        )
        self.dead_letters = DeadLetterCommands(
            stores.log,  # type: ignore[arg-type]  # it has what a history needs
            stores.dead,
            stores.requeue,
            self.intake.entries,
            self.writer,
        )
        self.deliveries = DeliveryCommands(
            stores.log, self.directory, self.dead_letters, stores.log, self.writer
        )
        self.replays = ReplayCommands(
            stores.jobs, stores.destinations, self.writer, self.runner, Visibility(plans, now)
        )

    # --- its life

    def children(self) -> list[Child]:
        """Return the supervised children, as in `api.composition.Server.children`, without the children
        that a simulated history does not need."""
        return [
            child("timers", self.timers.run),
            child("commands", self.commands.tasks.serve),
            child("background", self.background.run),
            child("recorder", self.recorder.run, restart=Restart.TRANSIENT),
            child("intake", self.intake.small.run, restart=Restart.TRANSIENT),
            child("large intake", self.intake.large.run, restart=Restart.TRANSIENT),
            child("readers", self.directory.readers.run),
            child("dispatcher", self.directory.dispatcher.run),
            child("changes", self.news.run),
            child("recovery", self._recover, restart=Restart.TRANSIENT),
            child("waker", self.waker.run),
            *self._attempts,
            *self._replays,
            *self._moves,
            child("own events", partial(self.own_events.run, self.intake.submit), restarts=ALWAYS),
            child("membership", self._watch_ownership),
            child("door", self._open, restart=Restart.TRANSIENT),
        ]

    @property
    def _attempts(self) -> list[Child]:
        # No other fault loses the outcome of an attempt.
        if not self.world.breaks:
            return []
        return [child("attempts", partial(self.directory.attempts.watch, self.clock))]

    @property
    def _replays(self) -> list[Child]:
        # If the history has no replay jobs, it has no runner of jobs either. The runner often looks for
        # jobs in the database, which would take most of the CPU time.
        if not any(wish.kind == "replay" for wish in self.world.plan.wishes):
            return []
        return [child("replays", self.runner.run, restarts=ALWAYS)]

    @property
    def _moves(self) -> list[Child]:
        if not self.world.plan.machines:
            return []
        return [child("placement", self._watch_placement, restarts=ALWAYS)]

    async def _watch_placement(self) -> None:
        watch = MoveWatch(self.machine)
        while True:
            await trio.sleep(BEAT_S * self.world.pace)
            await self.awake()
            if watch.leaves(self.world.belongs_on(self)) and not self._told:
                await self._hand_over()

    async def _hand_over(self) -> None:
        """Hand over the part to a process on another machine, as `api.composition.Server.hand_over`
        does."""
        self.handed_over = True
        self.world.tell(Fault, "hand over", str(self.number))
        await self.directory.drain(trio.current_time() + HAND_OVER_S)
        await self.stop(LAST_REQUESTS_S + FLUSH_S)

    async def run(self) -> None:
        why = "stopped"
        with self._scope:
            try:
                await self._prepare()
                await self.supervisor.run()
            except GivenUpError as error:
                why = "lost" if isinstance(error.__cause__, OwnershipLostError) else "gave up"
            except OwnershipLostError:
                why = "lost"
            except PlannedCrash:
                why = "gave up"
        if not self.dead:
            self._end()
            self.world.tell(Ended, self.number, why)
        self.world.ended(self, why)

    async def _prepare(self) -> None:
        while True:
            try:
                await self.stores.take()
                await self.loader.load()
            except StoreAwayError:
                await trio.sleep(START_AGAIN_S)
            else:
                return

    async def _recover(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        await self.directory.recover()
        task_status.started()

    async def _watch_ownership(self) -> None:
        faults = self.world.plan.faults
        while True:
            await trio.sleep(
                WATCH_S
                * self.world.pace
                * (1 if self.world.plan.nodes > 1 or "takeover" in faults else WITHOUT_TAKEOVER)
            )
            try:
                await self.stores.ownership.confirm()
            except StoreAwayError:
                continue

    async def _open(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        self._opened.set()
        if not self.dead:
            self.ready = True
            self.world.tell(Ready, self.number)
            self.world.readied()
        task_status.started()
        await trio.sleep_forever()

    async def _disable_gone(self, gone: Destination, quiet: bool, overdue: bool) -> None:
        await self.destinations.disable_gone(gone, quiet=quiet, overdue=overdue)

    def kill(self) -> None:
        if self.dead:
            return
        self._end()
        self.world.tell(Killed, self.number)
        self._scope.cancel()

    def _end(self) -> None:
        """Make everything that it does from now on ineffective."""
        self.dead = True
        self.ready = False
        self._ending.cancel()
        self.door.close()
        self._awake.set()
        held, self.held = self.held, []
        for each in held:  # messages on their way to it are lost
            each()
        self.world.network.died(self)
        self.world.links.died(self)

    async def stop(self, grace_s: float = GRACE_S) -> None:
        """End in order, as `api.composition.Server.stop`."""
        if self._told:
            return
        self._told = True
        with self._ending:
            await self._opened.wait()
            self.stopping, self.ready = True, False
            self.world.links.part(self)
            self.world.tell(Fault, "stop", str(self.number))
            await self._stop(grace_s)

    async def _stop(self, grace_s: float) -> None:
        deadline = trio.current_time() + grace_s - FLUSH_S
        await self.directory.drain(deadline)
        with trio.move_on_at(max(deadline, trio.current_time() + 0.5)):
            await self.own_events.wait_empty()
        self.intake.close()
        self.cut = True
        self.outbound.stop()
        self.world.network.died(self)
        with trio.move_on_at(deadline + FLUSH_S):
            await self.recorder.wait_empty()
        self.supervisor.stop()

    # --- faults

    @property
    def stalled(self) -> bool:
        return not self.dead and trio.current_time() < self.stalled_until

    def stall(self, lasts_s: float) -> None:
        if self.dead:
            return
        if not self.stalled:
            self._awake = trio.Event()
        self.stalled_until = max(self.stalled_until, trio.current_time() + lasts_s)
        self.world.tell(Fault, "stall", str(self.number), lasts_s)
        self.world.later(lasts_s, self._go_on)

    def wake(self) -> None:
        self.stalled_until = trio.current_time()
        self._go_on()

    def _go_on(self) -> None:
        if self.stalled:
            return
        self._awake.set()
        held, self.held = self.held, []
        for each in held:
            each()

    async def awake(self) -> None:
        """Return when it does not stall. Never returns if it is dead."""
        while self.stalled:
            await self._awake.wait()
        if self.dead:
            await trio.sleep_forever()

    def turn_crashes(self, destination: str) -> bool:
        self.faults.count("turn", self)
        if not self.crash_next or self.dead:
            return False
        self.crash_next = False
        self.world.tell(Fault, "crash", destination)
        return True

    def breaks(self, point: str) -> str | None:
        """Return when the present call between two modules must raise: `before` its work, `after` its
        work, or never (None).
        """
        self.faults.count(point, self)
        if not self.break_next or self.dead:
            return None
        self.break_next, self.broken = False, True
        when = self.world.chance(f"break {point}").choice(sides(point))
        self.world.tell(Fault, "break", f"{when} {point}")
        # Each of these actors may have to read the store again.
        for destination in list(self.models.destinations):
            self.world.tell(Fault, "crash", destination)
        return when

    def wall(self) -> float:
        return self.world.now() + self.clock_s + self.drift_s

    def drift(self, to_s: float) -> None:
        """The process notices the jump at its next look at the clock."""
        self.drift_s = to_s
        self.world.tell(Fault, "drift", str(self.number), to_s)
        self.world.later(LOOK_EVERY_S, self._look_at_clock)

    def _look_at_clock(self) -> None:
        if self.stalled:
            self.held.append(self._look_at_clock)
        elif not self.dead:
            self.clock.look(self._clock_stepped)

    def _clock_stepped(self, by_s: float) -> None:
        self.world.tell(Fault, "followed", str(self.number), self.drift_s)
        self.waker.clock_stepped(by_s)

    def _wall_ns(self) -> int:
        return int(self.wall() * 1e9)

    # --- what it sends

    def send(self, transmission: Transmission, done: Callable[[Outcome], None]) -> None:
        if self.world.breaks:
            done = breaking(self, "flight.__call__", done)
        self.outbound.begin(transmission, done)

    def forget(self, destination: str) -> None:
        """Do nothing. The real sender releases what it prepared for the destination, but here nothing is
        prepared."""


def _never() -> float:
    """Return 0, never the real time: no history may depend on it."""
    return 0.0
