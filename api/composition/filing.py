"""The files' side of the composition: where their bytes are, and who keeps, reads and removes them."""

import trio

from api.composition.foundation import Foundation
from engine.files.depot import Depot
from engine.files.library import FileLibrary
from engine.plans.plans import Visibility
from storage.encryption.secretbox import SecretBox
from storage.files.blobs import open_blobs
from storage.files.rows import PostgresFiles
from storage.files.spool import DiskSpool

FOLDER = "files"  # below the data folder
INCOMING = "incoming"  # in there, beside a folder for each environment, whose names are numbers
# What another process had under way when this one took over is judged by the second look only: it may
# write for as long as its own grace time, and would leave what this one has just removed.
SECOND_LOOK_S = 60.0


class Filing:
    """Everything of a process that files need."""

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
        """Have a spool, clear what dead processes left in theirs, and remove content without a file."""
        try:
            await self.spool.open()
        finally:
            task_status.started()  # events are taken also where files cannot be
        try:
            await self.depot.run(0.0 if self.alone else SECOND_LOOK_S)
        finally:
            with trio.CancelScope(shield=True):
                await self.spool.close()
