"""The files' side of the composition: the store of their bytes, and their way to receivers."""

from collections.abc import Callable

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

FOLDER = "files"  # below the data folder
INCOMING = (
    "incoming"  # in that folder, beside a folder for each environment, whose names are numbers
)
# Files that another process had under way at a takeover are judged at the second look only. That
# process can write until its own grace time is over, and would leave behind files that were just
# removed.
SECOND_LOOK_S = 60.0


class Filing:
    """The parts of a process that files need."""

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
        self.alone = True  # whether no other process was alive when this one took over

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Make the spool, clear the spools of dead processes, and remove content without a file."""
        try:
            await self.spool.open()
        finally:
            task_status.started()  # events are taken also where files cannot be
        try:
            await self.depot.run(0.0 if self.alone else SECOND_LOOK_S)
        finally:
            with trio.CancelScope(shield=True):
                await self.spool.close()


class Carrying:
    """The parts of files that deliveries and ingestion need, made from the foundation and the file
    store."""

    def __init__(
        self,
        base: Foundation,
        box: SecretBox,
        filing: Filing,
        address: Callable[[], tuple[str, int]],
    ) -> None:
        now = base.clock.now
        self._settings = base.settings
        self._address = address

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
        """Return the address of the customer portal of a workspace: the operator's, else
        this server's."""
        return self._settings.portal_url or f"{self._origin()}/portal/{workspace}"

    def _origin(self) -> str:
        """Return the address where receivers and browsers find this server: the setting's, else the one
        it listens on."""
        settings = self._settings
        if settings.public_url is not None:
            return settings.public_url.rstrip("/")
        host, port = self._address()
        scheme = "http" if settings.tls_cert is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
