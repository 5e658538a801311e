"""Durable writes: the content of a file, or the names in a folder, survive a power failure."""

import os
from pathlib import Path


def sync_file(path: Path) -> None:
    """Make a file's content durable."""
    _sync(path, os.O_RDONLY)


def sync_folder(path: Path) -> None:
    """Make a folder's names durable."""
    _sync(path, os.O_RDONLY | os.O_DIRECTORY)


def _sync(path: Path, flags: int) -> None:
    descriptor = os.open(path, flags)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
