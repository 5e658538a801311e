"""The directory: the owner of this process's actors, and of the records of dormant destinations.

A dormant destination has a backlog in the store, but no actor in memory.
"""

import random
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from itertools import islice

import trio

from engine.actors.actor import DestinationActor
from engine.actors.attempts import Attempts
from engine.actors.checkpoint import MARK_SETTLED, Recording
from engine.actors.context import Context
from engine.actors.dispatcher import Dispatcher
from engine.actors.lifecycle import ActorState, Departure, Dormant, Leave
from engine.actors.mailbox import Ordered, Resumed
from engine.actors.memory import Memory
from engine.actors.readers import Readers
from engine.actors.reading import Awakening
from engine.actors.reports import AT_REST, DestinationReport, DirectoryStatistics, Totals
from engine.core.commands import Commands, MemoryLimits
from engine.core.destination import Destination
from engine.core.machine import DestinationMachine
from engine.core.records import Delivery
from engine.core.split_table import SplitTable
from engine.core.vocabulary import DestinationStatus, ErrorCategory, Origin
from engine.model.identity import SHARDS
from engine.ports import BacklogRow, BacklogStore, DirtyDestination, Sender
from engine.ports.outage import Outage
from engine.runtime.slices import in_slices
from engine.runtime.timers import Timers
from engine.runtime.wake import Wake
from engine.settings import Settings

FORGET_AT_ONCE = 1_000  # backlog rows that one statement deletes between two groups
FORGET_LOOKS = 4_000  # rows to examine for that statement, because it skips some: 200 us
RECOVER_AT_ONCE = 1_000  # rows handled between two yields: about a millisecond
STIR_AT_ONCE = 1_000  # actors between two yields: less than a millisecond
RETIRE_AT_ONCE = 1_000  # actors between two yields: about a millisecond if all of them leave
SENT_AT_ONCE = 32  # deliveries of one call that can be sent inline: about a slice of turns
SENT_WITHIN_SLICES = 2  # slices of inline sending; one signature can fill a slice
FLUSH_S = 2.0  # for the last turns, which write rows and snapshots: some microseconds each


class Directory:
    """Owner of the actors. All methods are called on the trio thread. `recover` is called before the
    first delivery arrives."""

    def __init__(
        self,
        *,
        settings: Settings,
        find: Callable[[str], Destination | None],
        now: Callable[[], float],
        timers: Timers,
        sender: Sender,
        recorder: Recording,
        store: BacklogStore,
        attempts: Attempts,
        memory: Memory,
        forgettable: Wake,
        gone: Callable[[Destination, bool, bool], None],
        jitter: Callable[[], float] = random.random,
        make_machine: Callable[..., DestinationMachine] = DestinationMachine,
        mark_after: int = MARK_SETTLED,
        dispatcher: Dispatcher | None = None,
    ) -> None:
        """`gone` is called to disable a destination. Its first flag is True if only deliveries of
        Angarium's own events have failed, its second flag if the destination has failed for too long.
        `forgettable` wakes the intake, which then deletes backlog rows."""
        self._find, self._now, self._store = find, now, store
        self._passivate_after_s = settings.passivate_after
        self.actors: dict[str, DestinationActor] = {}
        self._swept: SplitTable[DestinationActor] = SplitTable()  # for loops that await
        self._dormant: dict[str, Dormant] = {}
        # By environment: destinations with an actor or a backlog.
        self._known: defaultdict[int, SplitTable[None]] = defaultdict(SplitTable)
        self._forgettable: dict[str, int] = {}  # destinations whose rows can go: environments
        self._recovered = False
        self._configured: list[Destination] = []  # waiting for the end of the recovery
        self._activations = self._passivations = 0
        self.sleepers = 0  # dormant destinations whose retries the waker looks for
        self.dirty: set[str] = set()  # destinations whose backlog row exists
        self._when_gone, self._wake_intake = gone, forgettable
        self.dispatcher = dispatcher or Dispatcher()
        self.readers = Readers(store)
        self.attempts = attempts
        self.memory = memory
        self._context = Context(
            now=now, jitter=jitter, make_machine=make_machine, mark_after=mark_after, timers=timers,
            limits=MemoryLimits(settings.actor_deliveries, settings.actor_bytes),
            sender=sender, recorder=recorder, dispatcher=self.dispatcher, readers=self.readers,
            attempts=self.attempts, memory=self.memory, gone=self._gone, retired=self._retired,
        )  # fmt: skip
        self.snapshots, self.steps = self._context.snapshots, self._context.steps
        self.awaited = self._context.awaited

    # --- work arrives

    def arrived(self, deliveries: Sequence[Delivery]) -> None:
        """Take deliveries that were just committed, in seq order."""
        groups: dict[str, list[Delivery]] = {}
        for delivery in deliveries:
            group = groups.get(delivery.destination)
            if group is None:
                groups[delivery.destination] = [delivery]
            else:
                group.append(delivery)
        # All these destinations have backlog rows now: the commit has written the row of each destination
        # that was not in `dirty`. An actor can exist before the row, if a person's request made it.
        self.dirty.update(groups)
        actors, dispatcher = self.actors, self.dispatcher
        few, until = len(deliveries) <= SENT_AT_ONCE, dispatcher.slice_end(SENT_WITHIN_SLICES)
        for destination, group in groups.items():
            actor = actors.get(destination) or self._roused(destination, group)
            if actor is not None:
                few = few and not dispatcher.is_past(until)
                actor.tell_arrived(group, few=few)

    def reread(self, deliveries: Sequence[Delivery]) -> None:
        """Make actors read the store again, because some of the committed `deliveries` (in seq order) may
        not have reached their actors. Keep the destinations' backlog rows until the actors have read."""
        self.dirty.update(each.destination for each in deliveries)
        places = dict.fromkeys((each.event.environment, each.destination) for each in deliveries)
        self.doubt(places, deliveries[0].seq)

    def doubt(self, destinations: Collection[tuple[int, str]], low_seq: int) -> None:
        """Make the actors of `destinations` (environment, id) read the store again from `low_seq` on. Use
        this if the outcome of a commit is unknown. Perhaps the commit did not write the destinations'
        backlog rows. So this method adds nothing to `dirty`: the next commit must write the rows."""
        for _, destination in destinations:
            self._forgettable.pop(destination, None)
        for environment, destination in destinations:
            if (actor := self.actors.get(destination)) is not None:
                actor.reread(low_seq)
                continue
            dormant = self._dormant_at(destination, environment, low_seq)
            dormant.low_seq = min(dormant.low_seq, low_seq)
            self._start_dormant(destination)

    def _dormant_at(self, destination: str, environment: int, low_seq: int) -> Dormant:
        dormant = self._dormant.get(destination)
        if dormant is None:
            dormant = Dormant(environment, low_seq, 0)
            self._rest(destination, dormant)
        return dormant

    def _roused(self, destination: str, deliveries: list[Delivery]) -> DestinationActor | None:
        left_just_now = self._forgettable.pop(destination, None) is not None
        config = self._find(destination)
        dormant, first = self._dormant.get(destination), deliveries[0]
        if config is None or config.status is DestinationStatus.DISABLED:
            dormant = self._dormant_at(destination, first.event.environment, first.seq)
            dormant.waiting += len(deliveries)
            self.memory.wait(dormant.environment, len(deliveries))
            return None
        if dormant is not None:
            actor = self._activate(config, dormant)
        else:
            # If an earlier actor of the destination has just left, the earlier actor can have settled
            # some of `deliveries`. Then the new actor must read the store.
            actor = self._add(DestinationActor(self._context, config, first.seq, not left_just_now))
        actor.start()
        return actor

    def _activate(self, config: Destination, dormant: Dormant) -> DestinationActor:
        actor = DestinationActor(self._context, config, dormant.low_seq, False)
        self._stir(config.id)
        return self._add(actor)

    def _rest(self, destination: str, dormant: Dormant) -> None:
        self._dormant[destination] = dormant
        self._known[dormant.environment].put(destination, None)
        self.memory.wait(dormant.environment, dormant.waiting)
        self.sleepers += dormant.sleeping

    def _stir(self, destination: str) -> None:
        dormant = self._dormant.pop(destination)
        self.memory.wait(dormant.environment, -dormant.waiting)
        self.sleepers -= dormant.sleeping

    def _add(self, actor: DestinationActor) -> DestinationActor:
        self.actors[actor.id] = actor
        self._swept.put(actor.id, actor)
        self._forgettable.pop(actor.id, None)  # work can arrive at an actor, so its row must stay
        self._known[actor.environment].put(actor.id, None)
        self._activations += 1
        return actor

    def activate_dormant(self, destination: str) -> DestinationActor | None:
        """Return a new actor, not yet started, for a destination with a backlog."""
        dormant = self._dormant.get(destination)
        config = self._find(destination)
        if dormant is None or config is None:
            return None
        return self._activate(config, dormant)

    def awaken(self, destination: str) -> None:
        """Queue the activation of a dormant destination."""
        config = self._find(destination)
        workspace = "" if config is None else config.workspace
        self.readers.submit_patient(Awakening(self, destination, workspace, self._context.timers))

    async def stir_all(self, *, sleepers: bool) -> None:
        """Give every actor a turn. `sleepers`: also activate dormant destinations that wait to retry."""
        async for actor in in_slices(self._swept.values(), STIR_AT_ONCE):
            actor.wake()
        async for destination in in_slices(list(self._dormant) if sleepers else (), STIR_AT_ONCE):
            if (dormant := self._dormant.get(destination)) is not None and dormant.sleeping:
                self.awaken(destination)

    def rouse(self, rows: Iterable[BacklogRow]) -> int:
        """Start the actors of destinations whose retries are due. Returns how many were started."""
        return sum(self._start_dormant(row.destination) for row in rows)

    def _start_dormant(self, destination: str) -> bool:
        config, dormant = self._find(destination), self._dormant.get(destination)
        if dormant is None or config is None or config.status is DestinationStatus.DISABLED:
            return False
        self._activate(config, dormant).start()
        return True

    def tell(self, destination: str, message: Ordered | Resumed) -> None:
        """Pass a person's request to a destination's actor."""
        config, actor = self._find(destination), self.actors.get(destination)
        if actor is None and config is not None:
            actor = self.activate_dormant(destination)
            actor = actor or self._add(DestinationActor(self._context, config, 0, True))
            actor.start()
        if actor is not None:
            actor.tell(message)

    def configure(self, destination: Destination) -> None:
        """Take a destination's committed version."""
        actor = self.actors.get(destination.id)
        if actor is not None:
            actor.tell_config(destination)
            return
        if not self._recovered:
            self._configured.append(destination)
            return  # its backlog is not known yet
        dormant = self._dormant.get(destination.id)
        if destination.status is DestinationStatus.ARCHIVED:
            # Only an actor can discard the destination's dead letters. The archiving also wrote a backlog
            # row. Because of the entry in `dirty`, the intake deletes this row after the actor has left.
            self.dirty.add(destination.id)
        elif dormant is None:
            return
        elif destination.status is DestinationStatus.DISABLED and not dormant.sleeping:
            return  # a disabled destination without a due retry needs no actor
        if dormant is not None:
            actor = self._activate(destination, dormant)
        else:
            actor = self._add(DestinationActor(self._context, destination, 0, True))
        actor.start()

    # --- actors leave

    async def passivate_idle(self) -> None:
        """Retire the actors that have been idle for long enough."""
        before = self._now() - self._passivate_after_s
        async for actor in in_slices(self._swept.values(), RETIRE_AT_ONCE):
            rests = actor.state is ActorState.RUNNING and not actor.in_flight
            if rests and actor.last_active <= before:
                actor.leave(Leave.RETIRE)

    def _retired(self, destination: Destination, departure: Departure) -> None:
        # First: if it raises, the destination still has its actor.
        self._context.sender.forget(destination.id)
        del self.actors[destination.id]
        self._swept.pop(destination.id)
        self._passivations += 1
        if not departure.clean:
            self._rest(destination.id, departure.dormant(destination.environment))
            return
        self._known[destination.environment].pop(destination.id)
        if destination.id in self.dirty:
            self._forgettable[destination.id] = destination.environment
            self._wake_intake.set()

    def _gone(self, destination: Destination, commands: Commands) -> None:
        gone = ErrorCategory.DESTINATION_GONE
        met = [each for each in commands.settle if each.error_category is gone]
        quiet = bool(met) and all(each.delivery.event.origin is Origin.OWN for each in met)
        self._when_gone(destination, commands.quiet or quiet, commands.overdue)

    def take_forgettable(self, without: Collection[int] = ()) -> list[tuple[int, str]]:
        """Return some backlog rows (environment, destination) to delete now, and remove them from
        `dirty`. Skip the environments in `without`: another intake is writing to these environments."""
        looked_at = islice(self._forgettable.items(), FORGET_LOOKS)
        found = ((env, each) for each, env in looked_at if env not in without)
        rows = list(islice(found, FORGET_AT_ONCE))
        for _, destination in rows:
            del self._forgettable[destination]
            self.dirty.discard(destination)
        return rows

    def rows_written(self, rows: Iterable[DirtyDestination]) -> None:
        """Record that these backlog rows exist: a statement wrote them, or their deletion failed. Call
        this method after `arrived`, which adds the destinations of new deliveries to `dirty`. The intake
        later deletes the rows of all other destinations, because no delivery needs these rows."""
        for row in rows:
            if self._recovered and row.destination not in self.dirty:
                self.dirty.add(row.destination)
                self._forgettable[row.destination] = row.environment
                self._wake_intake.set()

    def progress(self) -> tuple[int, int]:
        """Return how many deliveries wait in memory for an attempt, and how many attempts have ended."""
        return self.memory.deliveries - self.attempts.in_flight, self.attempts.total

    # --- start and end

    def hold(self) -> None:
        """Begin no attempt until the process ends."""
        self.attempts.halted = True

    async def recover(self, shards: Sequence[int] = range(SHARDS)) -> int:
        """Read all backlog rows, and queue the activation of their destinations. Returns the number of
        rows. The configuration must be loaded before."""
        self._configured.clear()
        rows = await Outage("recovery").outlast(lambda _: self._store.backlog(shards))
        async for row in in_slices(rows, RECOVER_AT_ONCE):
            self.dirty.add(row.destination)
            if row.destination not in self.actors:
                # It is dormant already if a recovery before this one broke.
                self._dormant_at(row.destination, row.environment, row.low_seq)
                self.awaken(row.destination)
        self._recovered = True
        for destination in self._configured:
            self.configure(destination)
        self._configured.clear()
        return len(rows)

    async def drain(self, deadline: float) -> bool:
        """Begin no more attempts. Wait until the attempts in flight are recorded, at most until
        `deadline` (on trio's clock). Then write backlog rows and snapshots. Returns whether all attempts
        were recorded. The dispatcher and the recorder must still run."""
        self.attempts.halted = True
        with trio.move_on_at(deadline) as scope:
            await self.attempts.wait_none()
        with trio.move_on_after(FLUSH_S):
            async for actor in in_slices(self._swept.values(), RETIRE_AT_ONCE):
                if self.actors.get(actor.id) is actor:
                    try:
                        actor.leave(Leave.FLUSH)
                    except Exception as error:  # a barrier: the other actors write their rows
                        actor.crashed(error)
            await self.dispatcher.wait_idle()
        return not scope.cancelled_caught

    # --- reports

    def delivering(self, deliveries: Iterable[str]) -> set[str]:
        return self.attempts.delivering(deliveries)

    def in_flight(self, environment: int) -> set[str]:
        return self.attempts.of(environment)

    def health(self, destination: str) -> DestinationReport:
        """Return the state of a destination and its actor."""
        actor = self.actors.get(destination)
        if actor is not None:
            return actor.report()
        config, pending = self._find(destination), self.work(destination)
        health = None
        if config is not None:
            health = self._context.health(None, config, self.snapshots.of(destination), pending)
        return DestinationReport(health=health, pending=pending, in_flight=0, actor=AT_REST)

    def known(self, environment: int) -> Iterator[str]:
        """Yield each destination of an environment that has an actor or a backlog. The ids are copied in
        parts, so the caller can await between two ids."""
        return self._known[environment].ids() if environment in self._known else iter(())

    def work(self, destination: str) -> int:
        """Return how many deliveries of a destination wait or are in flight."""
        if (actor := self.actors.get(destination)) is not None:
            return actor.pending + actor.in_flight
        return 0 if (dormant := self._dormant.get(destination)) is None else dormant.waiting

    def totals(self, environment: int) -> Totals:
        """Return how many deliveries of an environment wait, and how many attempts are in flight."""
        return Totals(self.memory.waiting(environment), self.attempts.unanswered(environment))

    def statistics(self) -> DirectoryStatistics:
        return DirectoryStatistics(
            actors=len(self.actors),
            dormant=len(self._dormant),
            dirty=len(self.dirty),
            in_flight=self.attempts.in_flight,
            held_deliveries=self.memory.deliveries,
            held_bytes=self.memory.bytes,
            restarts=self._context.crashes,
            activations=self._activations,
            passivations=self._passivations,
        )
