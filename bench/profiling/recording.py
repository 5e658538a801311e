"""The record of a server's allocations. A second file, next to the record, switches recording on.

`memray` records each allocation with its Python stack. This costs several times as much CPU as the
server's own work.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import memray


class Recording:
    """The recorder of one record at `path`. It begins when the file `<path>.wanted` appears, and ends
    when that file is removed."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._tracker: memray.Tracker | None = None

    def look(self) -> None:
        """Begin or end the record if the wish has changed. The event loop calls this repeatedly."""
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
    """Return the file that exists from the beginning of the recording on."""
    return path.with_name(path.name + ".begun")


def done(path: Path) -> Path:
    """Return the file that exists once the record is complete."""
    return path.with_name(path.name + ".done")
