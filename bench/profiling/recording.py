"""Records every block of memory that a server takes, for as long as a file beside the record is there.

`memray` follows each allocation with its Python stack, which costs several times what the work does: so
it is done in a run of its own, and nothing of that run is timed.
"""

from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import memray


class Recording:
    """Begins when the wish `PATH.wanted` appears, ends when it goes, and says so by `PATH.done`."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)
        self._tracker: memray.Tracker | None = None

    def look(self) -> None:
        """Begin or end what is wished for. Called within the loop, by one thread, again and again."""
        wanted = wish(self._path).exists()
        if wanted and self._tracker is None and not self._path.exists():
            import memray  # nobody else pays for it

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
    """Return the file whose presence says that every allocation is recorded from now on."""
    return path.with_name(path.name + ".begun")


def done(path: Path) -> Path:
    """Return the file whose presence says that the record is whole."""
    return path.with_name(path.name + ".done")
