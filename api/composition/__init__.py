"""The composition root: it builds the server, lists the supervised tasks, and ends the server in order.

Only this package knows every part.
"""

import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from functools import partial

import structlog
import trio

from api.composition.control import ControlParts
from api.composition.doorway import door_of
from api.composition.failures import ListenError, sole_error
from api.composition.foundation import WorkerNode
from api.composition.groups import ALWAYS, child
from api.composition.memory import collect_in_small_lots, take_huge_pages
from api.composition.operations import operate
from api.composition.standby import Standby
from api.door.front import FrontDoor
from api.door.tls import watch
from api.mcp.loading import load_early
from api.welcome import welcome
from engine.actors.supervisor import Child, Restart, Supervisor
from engine.control.keys import NewKey
from engine.core.vocabulary import Scope
from engine.model.errors import Refusal
from engine.ports.outage import Outage, surely_nothing
from engine.settings import Settings
from storage.database.bridge import Bridge
from storage.database.errors import StoreAwayError
from storage.database.pooling import require_sessions
from storage.embedded.server import EmbeddedError, EmbeddedServer
from storage.encryption.secretbox import SecretBox
from storage.migrations.migrate import migrate
from storage.ownership import Takeover

# A server that can have standbys waits this long after its start before it moves its memory into huge
# pages. The move blocks allocations for 100 ms. Just after the start, the move would delay the deliveries
# that waited for this server to take over.
CAUGHT_UP_S = 10.0
FLUSH_S = 3.0  # part of the grace time, reserved for writing outcomes
# The longest wait for attempts in flight when a part of the workspaces is handed over. The successor
# repeats an attempt that takes longer.
HAND_OVER_S = 5.0
# In the last PARTING_S before the door stops, the door closes each connection as soon as it has sent an
# answer. Otherwise a client could send its next request on a connection that is about to close.
PARTING_S = 0.2
LAST_REQUESTS_S = 2.0  # for requests under way, while new requests wait for the successor
OWN_EVENTS_S = 0.5  # the minimum for the service's own events
DATABASE_STOP_S = 1.0  # the minimum for the embedded database to stop in order
ANSWER_S = 1.0  # the minimum for the database to answer, whatever the grace time
DATABASE_LOOK_S = 0.5  # between two checks of the embedded database, each of a few reads of /proc
DATABASE_REST_S = 5.0  # after a start of the embedded database that failed
TWICE_S = 0.5  # two signals within this time count as one: a terminal and a wrapper can send both

log = structlog.get_logger("angarium")


class Server(ControlParts):
    """All parts of one process. Create it within trio; call `prepare`, then `run`."""

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
        super().__init__(settings, bridge, box, embedded, worker)
        self.stopping = False
        self.stop_asked = False
        self.handed_over = False  # the part was handed over, because another machine must have it
        self._acceptors: set[trio.CancelScope] = set()  # of the tasks that accept links
        self._preparing = trio.CancelScope()
        self.door: FrontDoor = door_of(self, self.unready, listens=listens)
        if worker is not None:
            self.door.inherit(worker.listeners, ())
        self.standby = None if settings.peer_bind is None else Standby(self, self.door, box)
        self.supervisor = Supervisor(self.children(), on_lost=self.bridge.cut)

    @property
    def address(self) -> tuple[str, int]:
        return self.door.address

    # --- start and end

    async def prepare(self) -> None:
        """Migrate the database, and wait until this server has the right to write. Return early if the
        server must stop."""
        with self._preparing:
            async with self.bridge.pool.connection() as other:
                await require_sessions(self.upkeep, other)
            await migrate(self.upkeep)
            taken = await self._take()
            async with trio.open_nursery() as nursery:
                # The steps below are slow, so send heartbeats: otherwise standbys would consider this
                # node dead.
                nursery.start_soon(self.membership.run)
                await self.bridge.connect()
                self.filing.sole_writer = self.part.whole and not taken.live_writers
                await self.housekeeping.run_once()
                await self.changes.begin()
                nursery.cancel_scope.cancel()

    async def _take(self) -> Takeover:
        if self.standby is None:
            return await self.ownership.take(self.upkeep)
        return await self.standby.wait_turn()

    async def run(self) -> None:
        """Run all children until the server stops. Raises GivenUpError if a child fails too often."""
        async with trio.open_nursery() as nursery:
            if self.stopping or not await nursery.start(self.supervisor.run):
                return  # a signal came before all children ran
            collect_in_small_lots()
            if self.standby is None:
                await trio.to_thread.run_sync(take_huge_pages)
            else:
                self.background.spawn(self._take_huge_pages)
            self.watch.served.set()
            # The first keys are shown only once, so a failed start must not create them.
            try:
                if self.part.number == 0:
                    await self._greet()
            except StoreAwayError:
                return  # a signal came meanwhile
            log.info("server.started", address=":".join(map(str, self.door.address)))

    async def _greet(self) -> None:
        """Raises StoreAwayError if the server must stop."""
        outlast = partial(Outage("the welcome").outlast, until=lambda: self.stopping)
        first_keys = await outlast(lambda _: self._first_keys())
        code = await outlast(lambda _: self._login_code())
        sys.stdout.write(welcome(self.settings, self.door.address[1], first_keys, code) + "\n")
        sys.stdout.flush()

    async def _first_keys(self) -> Sequence[NewKey]:
        scopes = Scope if sys.stdout.isatty() else ()  # a log must not have keys
        # A reload of the models can be under way. If it read the rows before the first keys were created,
        # it would remove these keys from the models. Therefore the command queue creates the keys: it
        # runs a command only after the reload.
        try:
            return await self.commands.run(lambda: self.keys.bootstrap(scopes))
        except Refusal as error:  # too many commands wait, or the children are ending
            raise surely_nothing(error.message) from error

    async def _login_code(self) -> str | None:
        """Return a login code. Return None if there is no key, or if standard output is not a terminal.
        It can then be a log, and a log must not contain codes."""
        key = await self.keys.strongest() if sys.stdout.isatty() else None
        return None if key is None else self.console.code(key.id, self.clock.now())

    def children(self) -> list[Child]:
        """All supervised tasks, in the order of their start."""
        return [
            child("loop watch", self.watch.run, restarts=ALWAYS),
            child("clock", partial(self.clock.run, self._clock_stepped), restarts=ALWAYS),
            child("timers", self.timers.run),
            child("reactor", self.reactor.run),
            child("membership", self.membership.run),
            child("transforms", self.transforms.serve, restarts=ALWAYS),
            child("commands", self.commands.tasks.serve),
            child("background", self.background.run),
            child("recorder", self.recorder.run, restart=Restart.TRANSIENT),
            child("intake", self.intake.small.run, restart=Restart.TRANSIENT),
            child("large intake", self.intake.large.run, restart=Restart.TRANSIENT),
            child("readers", self.directory.readers.run),
            child("dispatcher", self.directory.dispatcher.run),
            child("changes", self.changes.run),
            child("read models", self.freshness.run),
            child("recovery", self._recover, restart=Restart.TRANSIENT),
            child(
                "troubled destinations",
                partial(self.directory.snapshots.read_troubled, self.backlog),
                restart=Restart.TRANSIENT,
                restarts=ALWAYS,
            ),
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
            child("operations", partial(operate, self), restart=Restart.TRANSIENT),
            child("door", self._open_door, restart=Restart.TRANSIENT),
            *self._peers(),  # they give connections to the door
            child("certificate", partial(watch, self.door.certificate), restart=Restart.TRANSIENT),
            child("agents", self._expect_agents, restart=Restart.TRANSIENT),
        ]

    async def hand_over(self, machine: str | None) -> None:
        """Hand this server's part of the workspaces over to `machine`, unless the server is stopping.

        The server accepts events until the attempts in flight have ended. Later requests wait until the
        successor has started."""
        if self.stopping:
            return
        self.handed_over = True
        log.info("part.handed_over", part=self.part.number, machine=machine)
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
        """Accept no more events, finish or abort the attempts in flight, and write all outcomes."""
        if self.stopping:
            return  # the server is handing its part over already
        self.stopping = True
        grace_s = self.settings.shutdown_grace if grace_s is None else grace_s
        for scope in self._acceptors:
            scope.cancel()
        self.live.stop()
        if self.standby is not None:
            self.standby.relay.part()
        self._preparing.cancel()
        end = trio.current_time() + grace_s
        deadline = max(trio.current_time(), end - FLUSH_S)
        log.info("server.stop_begun", grace_s=grace_s)
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.door.drain, deadline)
            nursery.start_soon(self.directory.drain, deadline)
        self.trouble.sum_up()  # while `own_events` still accepts announcements
        with trio.move_on_at(max(deadline, trio.current_time() + OWN_EVENTS_S)):
            await self.own_events.wait_empty()
            await self.filter_failures.flush()
        self.intake.close()
        self.outbound.stop()
        self.filing.blobs.stop()  # fail the requests that still wait for it
        self.wire.abort_all()
        if self.embedded is not None:
            end -= 2 * DATABASE_STOP_S  # for PostgreSQL's normal stop, then for a forced stop
        with trio.move_on_at(end):
            await self.recorder.wait_empty()
            if self.tracing is not None:
                await self.tracing.close()
        if self.embedded is not None:  # it gets the rest of the grace time
            left_s = end + DATABASE_STOP_S - trio.current_time()
            self.embedded.stop_within_s = max(DATABASE_STOP_S, left_s)
            self.embedded.given_up = True  # a start in progress ends too
        self.supervisor.stop()

    async def stop_at_signal(
        self, signals: AsyncIterator[int], everything: trio.CancelScope
    ) -> None:
        """Stop at the first signal; at a second signal, stop at once."""
        async with trio.open_nursery() as nursery:
            await anext(signals)
            self.stop_asked = True
            nursery.start_soon(self.stop)
            nursery.start_soon(self._cut_in_time)
            first = trio.current_time()
            while trio.current_time() < first + TWICE_S:
                await anext(signals)
            log.warning("server.cut_off")
            self.bridge.cut()
            if self.embedded is not None:
                self.embedded.given_up = True
            self.filing.blobs.stop()
            everything.cancel()

    async def _cut_in_time(self) -> None:
        """Close the database's connections before the grace time ends. Otherwise a read that is under way
        could delay the stop by up to a minute."""
        own_s = 0.0 if self.embedded is None else 2 * DATABASE_STOP_S
        await trio.sleep(max(ANSWER_S, self.settings.shutdown_grace - own_s))
        self.bridge.cut()
        if self.embedded is not None:
            self.embedded.stop_within_s = DATABASE_STOP_S

    # --- small children

    async def _take_huge_pages(self) -> None:
        await trio.sleep(CAUGHT_UP_S)
        await trio.to_thread.run_sync(take_huge_pages)

    def _upkeep(self) -> list[Child]:
        """Return the supervised tasks that run once for the whole database: in the process of part 0."""
        if self.part.number != 0:
            return []
        return [child("summaries", self.summarising.run, restarts=ALWAYS)]

    def _peers(self) -> list[Child]:
        found = []
        if self.standby is not None:
            peers = partial(self._incoming, self.standby.accept)
            found.append(child("peers", peers, restart=Restart.TRANSIENT))
            placement = partial(self.standby.watch_placement, self.hand_over)
            found.append(child("placement", placement, restarts=ALWAYS))
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
        """Run `accept`, which accepts links from other nodes, until `stop` cancels it. After that, the
        other nodes repeat their connection attempts until the successor of this node accepts them."""
        with trio.CancelScope() as scope:
            self._acceptors.add(scope)
            await accept(task_status=task_status)
        self._acceptors.discard(scope)

    async def _expect_agents(self) -> None:
        await load_early(self.projection.mcp_key_known, self.watch.served)

    def _clock_stepped(self, by_s: float) -> None:
        self.waker.clock_stepped(by_s)
        self.housekeeping.hasten()

    async def _open_door(
        self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED
    ) -> None:
        try:
            await self.door.run(task_status=task_status)
        except (OSError, ExceptionGroup) as error:
            found = sole_error(error)
            listening = self.door.address[1] != 0
            if listening or not isinstance(found, OSError):
                raise
            raise ListenError("bind", self.settings.bind, found) from error

    async def _recover(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        destinations = await self.directory.recover()
        log.info("backlog.recovered", destinations=destinations)
        task_status.started()

    async def _keep_database(self) -> None:
        if self.embedded is not None:
            await keep_running(self.embedded)

    def unready(self) -> list[str]:
        """Return the reasons why the server cannot take work now."""
        reasons = []
        if self.stopping:
            reasons.append("the server is stopping")
        if self.intake.away:
            reasons.append("the database does not respond")
        elif self.freshness.stale:
            reasons.append("the configuration was not confirmed recently")
        return reasons


async def keep_running(embedded: EmbeddedServer) -> None:
    """Restart the embedded database whenever it has ended by itself, until cancelled."""
    while True:
        try:
            # A cancellation does not abandon this thread, but waits for its end, because
            # `EmbeddedServer.stop` must not run during a start.
            await trio.to_thread.run_sync(embedded.revive)
        except EmbeddedError as error:
            log.exception("embedded.not_revived", error=str(error))
            await trio.sleep(DATABASE_REST_S)
        await trio.sleep(DATABASE_LOOK_S)
