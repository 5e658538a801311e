"""Servers and receivers for the tests of the whole process."""

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.postmaster import read_postmaster
from tests.process.house import House
from tests.process.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of the test's own."""
    receiver = Receiver()
    yield receiver
    receiver.close()


@contextmanager
def open_house(**settings: str) -> Iterator[House]:
    """Run a server of one's own, and search its log at the end."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-process-"))
    folder.chmod(0o755)  # PostgreSQL, started by root, is another account
    house = House(folder / "data", **settings)
    try:
        with house:
            yield house
        house.search_log()
    finally:
        if house.process is not None and house.process.poll() is None:
            house.process.kill()
            house.process.wait()
        left = read_postmaster(house.folder / "postgres")
        if left is not None and left.alive:
            left.stop(fast_s=0.0)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def house() -> Iterator[House]:
    """A server of the test's own: it may be killed."""
    with open_house() as house:
        yield house


@pytest.fixture(scope="module")
def shared() -> Iterator[House]:
    """A server that the module's tests share: none of them may harm it."""
    with open_house(ANGARIUM_PASSIVATE_AFTER="2") as house:
        yield house
