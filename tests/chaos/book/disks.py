"""Faults of disks: no room is left on the database's disk, or on the disk for received files."""

import resource
from contextlib import suppress
from pathlib import Path

from tests.chaos.book.disturbance import DATABASE, DISK, Disturbance
from tests.chaos.world import World

FILL = 256 * 1024
BALLAST = "ballast"


class DiskFull(Disturbance):
    """Every byte of a small disk is taken, then freed."""

    touches = frozenset({DATABASE})
    for_s = (0.5, 3.0)

    @classmethod
    def possible(cls, world: World) -> bool:
        return world.small_disks

    def folder(self) -> Path:
        return self.world.primary.folder

    def begin(self) -> None:
        self._ballast = self.folder() / BALLAST
        with self._ballast.open("wb", buffering=0) as file, suppress(OSError):
            while file.write(bytes(FILL)):
                pass

    def end(self) -> None:
        self._ballast.unlink()
        self.world.primary.revive()  # without room for its log it ends; an operator starts it


class SpoolFull(DiskFull):
    """The disk that files are kept on is full."""

    touches = frozenset({DISK})

    def folder(self) -> Path:
        return self.world.folder / "data"

    def end(self) -> None:
        self._ballast.unlink()


class FilesMayNotGrow(Disturbance):
    """The database's processes cannot write past the present end of a file. This fault is used only
    where `DiskFull` is impossible, because no small disk can be made."""

    touches = frozenset({DATABASE})
    for_s = (0.5, 3.0)

    def begin(self) -> None:
        self._limit(0)

    def end(self) -> None:
        self._limit(resource.RLIM_INFINITY)
        self.world.primary.revive()

    def _limit(self, soft: int) -> None:
        for pid in self.world.primary.processes:
            with suppress(ProcessLookupError, PermissionError):
                hard = resource.prlimit(pid, resource.RLIMIT_FSIZE)[1]
                resource.prlimit(pid, resource.RLIMIT_FSIZE, (soft, hard))


BOOK: tuple[type[Disturbance], ...] = (DiskFull, SpoolFull, FilesMayNotGrow)
