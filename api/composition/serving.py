"""The run of a server in this process, from its settings to its exit code."""

import os
import signal
from collections.abc import AsyncIterator, Callable
from functools import partial

import structlog
import trio

from api.composition import Server
from api.composition.doorway import make_pages, pages_made
from api.composition.failures import EXIT_FAILED, ListenError, known_failure
from api.composition.forks import asked_in_fork
from api.composition.foundation import WorkerNode
from api.composition.workers import EXIT_HANDED_OVER, EXIT_LOST, Workers
from api.core_dumps import forbid_core_dumps
from api.door.listener import see_that_free
from api.door.tls import Certificate, server_context
from engine.files.ports import BlobsAwayError
from engine.model.setting_values import MOST_WORKERS, machine_of
from engine.nodes.liveness import BEAT_S
from engine.nodes.parts import first_parts
from engine.plans.file import plans_of
from engine.runtime.clock import LoopClock
from engine.settings import Settings
from engine.templates.catalog import catalog_of
from engine.tracing.opening import check_tracing
from engine.wire.tls import shared_context
from storage.database.bridge import open_bridge
from storage.database.errors import OwnershipLostError, StoreAwayError
from storage.database.profiles import UPKEEP
from storage.embedded.server import HOLD, EmbeddedError, EmbeddedServer
from storage.encryption.key_file import open_secret_box
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import open_blobs, try_store
from storage.migrations.migrate import migrate
from storage.nodes.cluster import agree_on_parts
from storage.nodes.membership import require_own_name

SIGNALS = (signal.SIGTERM, signal.SIGINT)
# The signal SIGHUP makes the server read its certificate again. But if the server was started in a
# terminal, SIGHUP means that the terminal was closed, and the server stops.
HANG_UP = signal.SIGHUP
# The first SIGTERM or SIGINT stops the server in order, and a second signal stops it at once. After a
# second signal, PostgreSQL has this time for its last checkpoint. If the checkpoint takes longer, it is
# cut off, and PostgreSQL replays its WAL at the next start.
AT_ONCE_S = 2.0

log = structlog.get_logger("angarium")


def serve(settings: Settings) -> int:
    """Run a server, or its workers, until SIGTERM or SIGINT; return the exit code."""
    forbid_core_dumps()
    return _explained(partial(_serve_shared, settings))


def _serve_shared(settings: Settings) -> int:
    """Run a server or several workers. If other computers share the database (setting `peer_bind`), run
    one worker for each part of the workspaces."""
    read_declared(settings)
    if settings.peer_bind is not None:
        code, parts = asked_in_fork(
            settings, lambda tell: _explained(partial(_agree, settings, tell))
        )
        if code:
            return code
        settings = settings.model_copy(update={"workers": parts})
    see_that_addresses_are_free(settings)
    box = secret_box(settings)
    return (_serve_single if settings.workers == 1 else _serve_workers)(settings, box)


def _serve_single(settings: Settings, box: SecretBox) -> int:
    while trio.run(_serve, settings, box, clock=LoopClock()):
        log.info(
            "server.started_again",
            meaning="the server has handed its part over, and is a standby now",
        )
    return 0


def _serve_workers(settings: Settings, box: SecretBox) -> int:
    def run_worker(own: Settings, worker: WorkerNode) -> int:
        return _explained(partial(_serve_worker, own, box, worker), lost=EXIT_LOST)

    def bring_up_to_date(own: Settings) -> int:
        return _explained(partial(_migrate, own))

    make_pages()  # once for all workers, so that a worker restarts faster
    return Workers(settings, bring_up_to_date, run_worker).run()


def _agree(settings: Settings, tell: Callable[[int], None]) -> int:
    """Agree with the other servers on the number of parts of the database, and call `tell` with this
    number. Raises PartsError and NameTakenError."""
    first = first_parts(settings.workers, MOST_WORKERS)

    async def ask(url: str) -> int:
        async with open_bridge(url) as bridge:
            upkeep = bridge.connection(UPKEEP)
            await migrate(upkeep)
            parts = await agree_on_parts(upkeep, settings.parts, first)
            # With one part, one node is active, and all others are standbys.
            if parts > 1:
                await require_own_name(upkeep, machine_of(settings.node_name))
            return parts

    assert settings.database_url is not None
    tell(trio.run(ask, settings.database_url))
    return 0


def _migrate(settings: Settings) -> int:
    assert settings.database_url is not None
    trio.run(_bring_up_to_date, settings.database_url)
    return 0


async def _bring_up_to_date(url: str) -> None:
    async with open_bridge(url) as bridge:
        await migrate(bridge.connection(UPKEEP))


def _serve_worker(settings: Settings, box: SecretBox, worker: WorkerNode) -> int:
    see_that_addresses_are_free(settings, but="bind")  # the parent listens there
    handed_over = trio.run(_serve, settings, box, worker, clock=LoopClock())
    return EXIT_HANDED_OVER if handed_over else 0


def _explained(run: Callable[[], int], lost: int = EXIT_FAILED) -> int:
    """Call `run`, and return its exit code. If `run` fails because another server has taken the database
    over, return `lost`. An error that operators can correct is logged, but not its traceback."""
    try:
        return run()
    except Exception as error:
        known = known_failure(error)
        if known is None:
            raise
        cause, code = known
        log.critical("server.failed", error=str(cause))
        return lost if isinstance(cause, OwnershipLostError) else code


def secret_box(settings: Settings) -> SecretBox:
    """Return the secret box with the keys from the settings."""
    return open_secret_box(
        settings.master_key,
        settings.data_dir,
        own_database=settings.database_url is not None,
        key_file=settings.master_key_file,
    )


def read_declared(settings: Settings) -> None:
    """Read the files that the settings name. The server reads them first, so an error in a file stops the
    server before it has created anything."""
    plans_of(settings)
    catalog_of(settings)
    shared_context(settings.egress_ca)
    check_tracing(settings)
    if settings.tls_cert is not None:
        server_context(settings.tls_cert, settings.tls_key)
    if settings.file_store is not None:
        open_blobs(settings.file_store, settings.data_dir)
        try:
            try_store(settings.file_store)
        # Only events with files need the store, and the store can come back.
        except BlobsAwayError as error:
            log.warning("file_store.away", error=str(error))


def see_that_addresses_are_free(settings: Settings, but: str = "") -> None:
    """Raises ListenError if another program uses an address. `but`: a setting whose address is not
    checked."""
    for setting, (host, port) in settings.listening.items():
        if setting == but:
            continue
        try:
            see_that_free(host, port)
        except OSError as error:
            raise ListenError(setting, getattr(settings, setting), error) from error


async def _serve(settings: Settings, box: SecretBox, worker: WorkerNode | None = None) -> bool:
    """Return True if the server has handed its part of the workspaces over and must start again as a
    standby."""
    handed_over = False
    embedded = None if settings.database_url is not None else EmbeddedServer(settings.data_dir)
    stopping = (*SIGNALS, HANG_UP) if os.isatty(0) else SIGNALS
    # Before and after the `with` block below, the process ignores these signals, so that they cannot
    # change the exit code. The end of the `with` block restores SIG_IGN.
    for number in (*SIGNALS, HANG_UP):
        signal.signal(number, signal.SIG_IGN)
    # A signal during PostgreSQL's start or stop must not leave PostgreSQL running.
    with trio.open_signal_receiver(*stopping) as signals:
        try:
            url = settings.database_url if embedded is None else await _started(embedded, signals)
            if url is None:
                log.info("server.stopped", before="the database had started")
            else:
                renews = HANG_UP not in stopping
                handed_over = await _run(settings, box, url, embedded, signals, renews, worker)
        finally:
            if embedded is not None:
                with trio.CancelScope(shield=True):
                    await trio.to_thread.run_sync(embedded.stop)
    return handed_over


async def _run(
    settings: Settings,
    box: SecretBox,
    url: str,
    embedded: EmbeddedServer | None,
    signals: AsyncIterator[int],
    renews: bool,
    worker: WorkerNode | None,
) -> bool:
    async with open_bridge(url) as bridge:
        server = Server(settings, bridge, box, embedded, worker=worker)
        # `angarium restore` can create the file HOLD. If this file exists now, this server process never
        # begins an attempt. Look for the file only now: this process has locked the data folder, so no
        # backup is being restored any more.
        if await trio.Path(settings.data_dir / HOLD).exists():
            server.directory.hold()
            log.warning("deliveries.held", until="the file is removed", file=HOLD)
        in_order = False
        async with trio.open_nursery() as nursery:
            if worker is not None and worker.pulse is not None:
                # A worker can hang in `prepare` too.
                nursery.start_soon(beat, worker.pulse)
            nursery.start_soon(server.stop_at_signal, signals, nursery.cancel_scope)
            if server.standby is not None:
                # also before this server takes its part over
                nursery.start_soon(server.standby.relay.carriers.serve)
            if renews:
                nursery.start_soon(_renew_at_hang_up, server.door.certificate)
            try:
                await server.prepare()
            except StoreAwayError:
                if not server.stopping:  # `stop` itself has closed the connections
                    raise
            await server.run()
            if server.standby is not None:
                await server.standby.leave()
            in_order = True
            nursery.cancel_scope.cancel()
        if embedded is not None and not in_order:
            embedded.stop_within_s = AT_ONCE_S
        log.info("server.stopped")
        return server.handed_over and not server.stop_asked


async def beat(pulse: Callable[[], None]) -> None:
    """Give the parent signs of life until cancelled."""
    while True:
        pulse()
        await trio.sleep(BEAT_S)


async def _renew_at_hang_up(certificate: Certificate | None) -> None:
    with trio.open_signal_receiver(HANG_UP) as signals:
        async for _ in signals:
            if certificate is not None:
                await certificate.renew()


async def _started(embedded: EmbeddedServer, signals: AsyncIterator[int]) -> str | None:
    """Return the database's URL, None if a signal has come."""

    async def give_up() -> None:
        await anext(signals)
        embedded.given_up = True

    url: str | None = None
    async with trio.open_nursery() as nursery:
        nursery.start_soon(give_up)
        nursery.start_soon(pages_made)  # this thread is idle meanwhile
        try:
            url = await trio.to_thread.run_sync(embedded.start)
        except EmbeddedError:
            if not embedded.given_up:
                raise
        nursery.cancel_scope.cancel()
    return None if embedded.given_up else url
