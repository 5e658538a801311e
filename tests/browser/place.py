"""A server and a receiver in their own folder, for tests of pages."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.process.house import House
from tests.process.receiver import Receiver


@contextmanager
def open_place(name: str) -> Iterator[tuple[House, Receiver]]:
    """Run a server and a receiver in a temporary folder."""
    folder = Path(tempfile.mkdtemp(prefix=f"angarium-{name}-"))
    folder.chmod(0o755)
    receiver = Receiver()
    try:
        with House(folder / "data") as house:
            yield house, receiver
    finally:
        receiver.close()
        shutil.rmtree(folder, ignore_errors=True)
