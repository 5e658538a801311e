"""The composition root: builds the server, lists the supervised tasks, and ends the server in order.

It is the one place that knows every part. It wires and decides nothing.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import structlog
import trio

from api.cli.failures import ListenError, alone
from api.cli.welcome import welcome
from api.composition.control import ControlParts
from api.composition.doorway import door_of
from api.composition.foundation import WorkerNode
from api.composition.groups import ALWAYS, child
from api.composition.huge_pages import take_huge_pages
from api.composition.operations import operate
from api.composition.process_limits import collect_in_small_lots
from api.composition.standby import Standby
from api.door.front import FrontDoor
from api.door.tls import watch
from engine.actors.supervisor import Child, Restart, Supervisor
from engine.control.keys import NewKey
from engine.core.vocabulary import Scope
from engine.model.errors import Refusal
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.database.errors import StoreAwayError
from storage.database.pooling import require_sessions
from storage.embedded.server import EmbeddedServer
from storage.embedded.warden import keep_running
from storage.encryption.secretbox import SecretBox
from storage.migrations.migrate import migrate
from storage.ownership import Takeover

FLUSH_S = 3.0  # part of the grace time, kept for making past decisions durable
# For attempts in flight when a part is handed over. Meanwhile the part's other deliveries wait; a slower
# attempt is sent again by the successor.
HAND_OVER_S = 5.0
# From the first answers that end their connections to the end of the door: a client that sends one
# request after another learns from an answer that the connection ends, and loses no request.
PARTING_S = 0.2
LAST_REQUESTS_S = 2.0  # for requests under way; other requests wait as long for the successor
OWN_EVENTS_S = 0.5  # the least part of the grace time for the service's own events
DATABASE_STOP_S = 1.0  # the least time that the embedded database has to end in order
ANSWER_S = 1.0  # of the shortest grace time: the time that a healthy database needs to answer
TWICE_S = 0.5  # two signals within this time are one: a terminal and a wrapper both pass it on

log = structlog.get_logger("angarium")


class Server(ControlParts):
    """All parts of one process. Made within trio; `prepare`, then `run`."""

    def __init__(
        self,
        settings: Settings,
        bridge: Bridge,
        box: SecretBox,
        embedded: EmbeddedServer | None,
        *,
        listens: bool = True,
        worker: WorkerNode | None = None,
    ) -> None:
        """`listens`: the server listens at its address; otherwise another server has the connections
        (`api.asgi`)."""
        super().__init__(settings, bridge, box, embedded, self._address, worker)
        self.clock.tell(self._clock_stepped)
        self.stopping = False
        self.told_to_stop = False  # by a signal
        self._acceptors: set[trio.CancelScope] = set()  # of links
        self._preparing = trio.CancelScope()
        self.door: FrontDoor = door_of(self, self.unready, listens=listens)
        if worker is not None:
            self.door.inherit(worker.listeners, ())
        self.standby = None if settings.peer_bind is None else Standby(self, box)
        self.supervisor = Supervisor(self.children(), on_lost=self.bridge.cut)

    def _address(self) -> tuple[str, int]:
        return self.door.address

    # --- its life

    async def prepare(self) -> None:
        """Bring the database up to date and take it over; give up when the server is to stop."""
        with self._preparing:
            async with self.bridge.pool.connection() as other:
                await require_sessions(self.upkeep, other)
            await migrate(self.upkeep)
            taken = await self._take()
            async with trio.open_nursery() as nursery:
                # Runs beside steps that can take long, since standbys take a silent node for dead.
                nursery.start_soon(self.membership.run)
                await self.bridge.connect()
                self.filing.alone = self.part.whole and not taken.live_writers
                await self.housekeeping.run_once()
                await self.changes.begin()  # reads them
                nursery.cancel_scope.cancel()

    async def _take(self) -> Takeover:
        if self.standby is None:
            return await self.ownership.take(self.upkeep)
        return await self.standby.wait_turn()

    async def run(self) -> None:
        """Run everything until stopped. Raises GivenUpError when a part cannot be kept running."""
        async with trio.open_nursery() as nursery:
            if self.stopping or not await nursery.start(self.supervisor.run):
                return  # told to stop before all of it ran
            collect_in_small_lots()
            await trio.to_thread.run_sync(take_huge_pages)
            self.watch.served.set()
            # Made once everything runs: the keys are shown only once, and not by a start that fails.
            try:
                if self.part.number == 0:  # of several workers one greets
                    await self._greet()
            except (Refusal, StoreAwayError):
                if self._preparing.cancel_called:
                    return  # told to stop meanwhile
                raise
            log.info("server started", address=":".join(map(str, self.door.address)))

    async def _greet(self) -> None:
        first_keys = await self._first_keys()
        code = await self._login_code()
        sys.stdout.write(welcome(self.settings, self.door.address[1], first_keys, code) + "\n")
        sys.stdout.flush()

    async def _first_keys(self) -> Sequence[NewKey]:
        scopes = Scope if sys.stdout.isatty() else ()  # else it is a log, which must not have keys
        # In its turn: a reload under way has read the rows before these, and would shut them out again.
        return await self.commands.run(lambda: self.keys.bootstrap(scopes))

    async def _login_code(self) -> str | None:
        """Return a console code for the strongest key; None if standard output is no terminal."""
        key = await self.keys.strongest() if sys.stdout.isatty() else None
        return None if key is None else self.console.code(key.id, self.clock.now())

    def children(self) -> list[Child]:
        """The supervision tree: all supervised tasks, in the order of their start."""
        return [
            child("loop watch", self.watch.run, restarts=ALWAYS),
            child("clock", self.clock.run, restarts=ALWAYS),
            child("timers", self.timers.run),
            child("reactor", self.reactor.run),
            child("membership", self.membership.run),
            child("transforms", self.transforms.serve, restarts=ALWAYS),
            child("commands", self.commands.serve),
            child("background", self.background.run),
            child("recorder", self.recorder.run, restart=Restart.TRANSIENT),
            child("intake", self.intake.small.run, restart=Restart.TRANSIENT),
            child("large intake", self.intake.large.run, restart=Restart.TRANSIENT),
            child("readers", self.directory.readers.run),
            child("dispatcher", self.directory.dispatcher.run),
            child("changes", self.changes.run),
            child("read models", self.freshness.run),
            child("recovery", self._recover, restart=Restart.TRANSIENT),
            child("waker", self.waker.run),
            child("attempts", partial(self.directory.attempts.watch, self.clock)),
            child("replays", self.replays.run, restarts=ALWAYS),
            child("own events", partial(self.own_events.run, self.intake.submit), restarts=ALWAYS),
            child("trouble log", self.trouble.run, restarts=ALWAYS),
            child("filter failures", self.filter_failures.run, restarts=ALWAYS),
            child("last use", self.last_use.run, restarts=ALWAYS),
            child("files", self.filing.run, restarts=ALWAYS),
            child("unrouted files", self.carrying.unrouted.run, restarts=ALWAYS),
            child("pressure", self.sharing.pressure.run, restarts=ALWAYS),
            child("housekeeping", self.housekeeping.run, restarts=ALWAYS),
            *self._upkeep(),
            child("database", self._keep_database, restart=Restart.TRANSIENT),
            *self._peers(),
            child("operations", partial(operate, self), restart=Restart.TRANSIENT),
            child("door", self._open_door, restart=Restart.TRANSIENT),
            child("certificate", partial(watch, self.door.certificate), restart=Restart.TRANSIENT),
        ]

    async def hand_over(self) -> None:
        """End in order for another server that takes over. It accepts events until no attempt is in
        flight, so that requests wait for the successor alone."""
        grace_s = self.settings.shutdown_grace
        self.door.part()
        await trio.sleep(min(PARTING_S, grace_s))
        if not await self.directory.drain(trio.current_time() + min(HAND_OVER_S, grace_s)):
            log.warning(
                "attempts.cut_off",
                part=self.part.number,
                waited_s=HAND_OVER_S,
                meaning="the part's next server sends them again",
            )
        if not self.stopping:
            if self.door.handing is not None:
                self.door.handing.stop_receiving()
            await self.stop(min(LAST_REQUESTS_S + FLUSH_S, grace_s))

    async def stop(self, grace_s: float | None = None) -> None:
        """End in order: accept no more, finish or hand back what is in flight, make it durable."""
        if self.stopping:
            return  # it hands its part over already
        self.stopping = True
        grace_s = self.settings.shutdown_grace if grace_s is None else grace_s
        for scope in self._acceptors:
            scope.cancel()
        self.live.stop()
        if self.standby is not None:
            self.standby.part()
        self._preparing.cancel()
        end = trio.current_time() + grace_s
        deadline = max(trio.current_time(), end - FLUSH_S)
        log.info("server stopping", grace_s=grace_s)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.door.drain, deadline)
            nursery.start_soon(self.directory.drain, deadline)
        self.trouble.sum_up()  # while an announcement can still enter
        with trio.move_on_at(max(deadline, trio.current_time() + OWN_EVENTS_S)):
            await self.own_events.wait_empty()
            await self.filter_failures.flush()
        self.intake.close()
        self.outbound.stop()
        self.filing.blobs.stop()  # requests that still wait for it are past the grace time
        self.wire.abort_all()
        if self.embedded is not None:
            end -= 2 * DATABASE_STOP_S  # to end in order, or else by force
        with trio.move_on_at(end):
            await self.recorder.wait_empty()
            if self.tracing is not None:
                await self.tracing.close()
        if self.embedded is not None:  # what is left of the grace time is its own
            left_s = end + DATABASE_STOP_S - trio.current_time()
            self.embedded.stop_within_s = max(DATABASE_STOP_S, left_s)
            self.embedded.given_up = True  # a start in progress ends, too
        self.supervisor.stop()

    async def stop_at_signal(
        self, signals: AsyncIterator[int], everything: trio.CancelScope
    ) -> None:
        """Stop at the first signal; at a second one, at once."""
        async with trio.open_nursery() as nursery:
            await anext(signals)
            self.told_to_stop = True
            nursery.start_soon(self.stop)
            nursery.start_soon(self._cut_in_time)
            first = trio.current_time()
            while trio.current_time() < first + TWICE_S:
                await anext(signals)
            log.warning("stopping at once")
            self.bridge.cut()
            if self.embedded is not None:
                self.embedded.given_up = True
            self.filing.blobs.stop()
            everything.cancel()

    async def _cut_in_time(self) -> None:
        """Bound every wait for the database by the grace time: a read would wait up to a minute."""
        own_s = 0.0 if self.embedded is None else 2 * DATABASE_STOP_S
        await trio.sleep(max(ANSWER_S, self.settings.shutdown_grace - own_s))
        self.bridge.cut()
        if self.embedded is not None:  # its share of the grace time is over too
            self.embedded.stop_within_s = DATABASE_STOP_S

    # --- small children

    def _upkeep(self) -> list[Child]:
        """Return the tasks that one process runs for the whole database."""
        if self.part.number != 0:
            return []
        return [child("summaries", self.summarising.run, restarts=ALWAYS)]

    def _peers(self) -> list[Child]:
        found = []
        if self.standby is not None:
            peers = partial(self._incoming, self.standby.accept)
            found.append(child("peers", peers, restart=Restart.TRANSIENT))
            found.append(child("placement", self.standby.watch_placement, restarts=ALWAYS))
        if self.links is not None:
            links = partial(self._incoming, partial(self.links.accept, self.door.adopt_link))
            found.append(child("links", links, restart=Restart.TRANSIENT))
        if self.links is not None and self.door.handing is not None:
            receive = self.door.handing.receive
            passages = partial(self._incoming, partial(self.links.accept_passages, receive))
            found.append(child("passages", passages, restart=Restart.TRANSIENT))
        return found

    async def _incoming(
        self,
        accept: Callable[..., Awaitable[None]],
        task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED,
    ) -> None:
        """Accept links until the part is handed over or the server stops: from then on others try until
        its next node is there."""
        with trio.CancelScope() as scope:
            self._acceptors.add(scope)
            await accept(task_status=task_status)
        self._acceptors.discard(scope)

    def _clock_stepped(self, by_s: float) -> None:
        self.waker.clock_stepped(by_s)
        self.housekeeping.hasten()

    async def _open_door(
        self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            await self.door.run(task_status=task_status)
        except (OSError, ExceptionGroup) as error:
            found = alone(error)
            listening = self.door.address[1] != 0
            if listening or not isinstance(found, OSError):
                raise
            raise ListenError("bind", self.settings.bind, found) from error

    async def _recover(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        destinations = await self.directory.recover()
        log.info("backlog recovered", destinations=destinations)
        task_status.started()
        await self.directory.snapshots.read_troubled(self.backlog)

    async def _keep_database(self) -> None:
        if self.embedded is not None:
            await keep_running(self.embedded)

    def unready(self) -> list[str]:
        """Return the reasons why the server cannot take work now; none if it can."""
        reasons = []
        if self.stopping:
            reasons.append("the server is stopping")
        if self.intake.away:
            reasons.append("the database is away")
        elif self.freshness.stale:
            reasons.append("the configuration could not be confirmed lately")
        return reasons
