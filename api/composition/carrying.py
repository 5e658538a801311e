"""The composition of files."""

import trio

from api.composition.foundation import Foundation
from engine.files.attaching import Attaching
from engine.files.carrying import FileCarrier
from engine.files.depot import Depot, FileLibrary
from engine.files.fetching import Sources, UnroutedFiles
from engine.files.urls import PURPOSE, FileUrls
from engine.plans.plans import Visibility
from engine.wire.fetch import Fetcher
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import open_blobs
from storage.files.rows import PostgresFiles, PostgresUnfetched
from storage.files.spool import DiskSpool

FOLDER = "files"  # in the data folder
INCOMING = "incoming"  # in FOLDER
# If another process was alive when this server took over, the server waits this long before it first
# removes the blobs that no row names. The other process can still write such blobs until its grace time
# is over. An earlier removal would miss them.
SECOND_LOOK_S = 60.0


class Filing:
    """The store of files."""

    def __init__(self, base: Foundation, box: SecretBox) -> None:
        settings = base.settings
        folder = settings.data_dir / FOLDER
        self.spool = DiskSpool(folder / INCOMING, settings.file_disk_reserve)
        self.blobs = open_blobs(settings.file_store, folder)
        self.store = PostgresFiles(base.bridge.pool, box, base.part)
        self.depot = Depot(self.spool, self.blobs, self.store)
        self.library = FileLibrary(
            self.store, self.blobs, Visibility(base.plans, base.clock.now), base.plans
        )
        self.sole_writer = True  # no other process was alive at the takeover

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Open the spool, clear the spools of dead processes, and remove blobs that no row names."""
        try:
            await self.spool.open()
        finally:
            task_status.started()  # the server accepts events even without files
        try:
            await self.depot.run(0.0 if self.sole_writer else SECOND_LOOK_S)
        finally:
            with trio.CancelScope(shield=True):
                await self.spool.close()


class Carrying:
    """The parts for files in deliveries and in ingestion."""

    def __init__(self, base: Foundation, box: SecretBox, filing: Filing) -> None:
        now = base.clock.now
        self._base = base
        self.sources = Sources(
            Fetcher(base.wire.wiring), filing.depot, filing.store, base.models.workspace_of
        )
        lifetime_s = base.settings.file_url_lifetime
        self.urls = FileUrls(box.derived(PURPOSE), self._origin, lifetime_s, now)
        self.carrier = FileCarrier(
            filing.store,
            self.sources,
            self.urls,
            base.background.spawn,
        )
        unfetched = PostgresUnfetched(base.bridge.pool, box, base.part)
        self.unrouted = UnroutedFiles(unfetched, filing.store, self.sources, now)
        self.attaching = Attaching(filing.depot, filing.store, base.identity)

    def portal(self, workspace: str) -> str:
        """Return the address of a workspace's customer portal."""
        return self._base.settings.portal_url or f"{self._origin()}/portal/{workspace}"

    def _origin(self) -> str:
        """Return this server's address for receivers and browsers."""
        settings = self._base.settings
        if settings.public_url is not None:
            return settings.public_url.rstrip("/")
        host, port = self._base.address
        scheme = "http" if settings.tls_cert is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
