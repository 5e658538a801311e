"""The folder of the sockets that link the workers of one parent. Only the parent's user can enter it.

The parent holds a lock on the folder, which ends with the parent and its workers, even if they are
killed. The next parent removes folders without a lock.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "angarium-links-"


class LinkFolder:
    """A new folder for links, locked while its parent process or one of the parent's forks lives. Raises
    OSError."""

    def __init__(self, within: Path | None = None) -> None:
        """`within`: where to create it; None: the system's folder for temporary files."""
        parent = Path(tempfile.gettempdir()) if within is None else within
        for left in parent.glob(PREFIX + "*"):
            _remove_dead(left)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            self._lock = _locked(self.path)
            if self._lock is not None and self.path.exists():
                return
            # Try again: before the lock was taken, another parent removed the folder, which looked like
            # that of a dead parent.
            self.close()

    def close(self) -> None:
        """Remove the folder."""
        shutil.rmtree(self.path, ignore_errors=True)
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def _remove_dead(folder: Path) -> None:
    lock = _locked(folder)
    if lock is not None:
        shutil.rmtree(folder, ignore_errors=True)
        os.close(lock)


def _locked(folder: Path) -> int | None:
    """Return a descriptor that locks a folder; None if it is another user's, gone, or locked."""
    with suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
        try:
            if os.fstat(descriptor).st_uid == os.geteuid():
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                return descriptor
        except OSError:
            pass
        os.close(descriptor)
    return None
