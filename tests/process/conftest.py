"""Servers and receivers for the tests of the whole process."""

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from storage.embedded.postmaster import read_postmaster
from tests.process.house import House
from tests.process.receiver import Receiver


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()


@contextmanager
def _folder() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="angarium-process-"))
    folder.chmod(0o755)  # if root starts PostgreSQL, it runs as another account
    try:
        yield folder
    finally:
        left = read_postmaster(folder / "data" / "postgres")
        if left is not None and left.alive:
            left.stop(fast_s=0.0)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def furnished() -> Iterator[House]:
    """A server that was started once and then stopped. The tests' servers start on copies of its data.
    Such a start takes half as long as a start on an empty folder."""
    with _folder() as folder:
        with House(folder / "data") as house:
            pass
        yield house


@contextmanager
def open_house(furnished: House, program: str = "api.cli", **settings: str) -> Iterator[House]:
    """Run a server for the block, and search its log at the end. `program` is the module to run."""
    with _folder() as folder:
        subprocess.run(["cp", "-a", str(furnished.folder), str(folder)], check=True)
        house = House(folder / "data", **settings)
        house.key = furnished.key
        house.program = program
        try:
            house.start()
            yield house
            assert house.ended() == 0
            house.search_log()
        finally:
            if house.process is not None and house.process.poll() is None:
                house.process.kill()
                house.process.wait()


@pytest.fixture(scope="module")
def house(furnished: House) -> Iterator[House]:
    """The server of all tests of a module. A test can kill or stop the server, and must start it again.

    The server holds few deliveries in memory and passivates actors early, so that much is read back from
    PostgreSQL. It runs as `bench.traceable`, so that its memory can be measured without root.
    """
    settings = {
        "ANGARIUM_PASSIVATE_AFTER": "1",
        "ANGARIUM_ACTOR_DELIVERIES": "64",
        "ANGARIUM_ENGINE_DELIVERIES": "150",
    }
    with open_house(furnished, "bench.traceable", **settings) as house:
        yield house


@pytest.fixture(scope="session")
def shared(furnished: House) -> Iterator[House]:
    """A server for many tests, none of which may harm it."""
    with open_house(furnished, ANGARIUM_PASSIVATE_AFTER="2") as house:
        yield house
