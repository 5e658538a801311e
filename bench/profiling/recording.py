"""The record of a server's allocations. The server records while a second file exists next to the record.

`memray` records each allocation with its Python stack. This costs several times as much CPU as the
server's own work.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import memray


class Recording:
    """The recorder of one record at `path`. The recording begins when the file `<path>.wanted` appears,
    and ends when this file is removed."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._tracker: memray.Tracker | None = None

    def look(self) -> None:
        """Begin the record if `<path>.wanted` has appeared. End the record if this file has been removed.
        The event loop calls this method repeatedly."""
        wanted = wish(self._path).exists()
        if wanted and self._tracker is None and not self._path.exists():
            import memray  # only a recorded server imports it

            self._tracker = memray.Tracker(self._path, trace_python_allocators=True)
            self._tracker.__enter__()
            begun(self._path).touch()
        elif not wanted and self._tracker is not None:
            self._tracker.__exit__(None, None, None)
            self._tracker = None
            done(self._path).touch()


def wish(path: Path) -> Path:
    """Return the file whose presence asks for a record."""
    return path.with_name(path.name + ".wanted")


def begun(path: Path) -> Path:
    """Return the file that the recorder creates when the recording has begun."""
    return path.with_name(path.name + ".begun")


def done(path: Path) -> Path:
    """Return the file that the recorder creates when the record is complete."""
    return path.with_name(path.name + ".done")
