"""The folder of the sockets that link the workers of one parent. Only the parent's user can enter it.

The parent holds a lock on the folder. The lock lasts until the parent and all its workers have ended
or were killed. A parent that starts removes the folders that nobody has locked.
"""

import fcntl
import os
import shutil
import tempfile
from contextlib import suppress
from pathlib import Path

PREFIX = "angarium-links-"


class LinkFolder:
    """A new folder for links. It stays locked until the process that made it and all forks of this
    process have ended. Raises OSError."""

    def __init__(self, within: Path | None = None) -> None:
        """`within`: where to create the folder; None: the system's folder for temporary files."""
        parent = Path(tempfile.gettempdir()) if within is None else within
        for left in parent.glob(PREFIX + "*"):
            _remove_dead(left)
        while True:
            self.path = Path(tempfile.mkdtemp(prefix=PREFIX, dir=parent))
            self._lock = _locked(self.path)
            if self._lock is not None and self.path.exists():
                return
            # Try again. The folder was not locked yet, so another parent took it for a dead parent's
            # folder and removed it.
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
    """Return a descriptor that locks a folder. None: the folder is another user's, gone, or locked."""
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
