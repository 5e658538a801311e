"""A server and a receiver in a folder of their own, for pages to be looked at."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tests.process.house import House
from tests.process.receiver import Receiver


@contextmanager
def open_place(name: str) -> Iterator[tuple[House, Receiver]]:
    """Run both; the folder, which is removed at the end, bears the name."""
    folder = Path(tempfile.mkdtemp(prefix=f"angarium-{name}-"))
    folder.chmod(0o755)
    receiver = Receiver()
    try:
        with House(folder / "data") as house:
            yield house, receiver
    finally:
        receiver.close()
        shutil.rmtree(folder, ignore_errors=True)
