"""Folders that PostgreSQL, which is another account when root starts it, may pass through."""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.postgres import TestServer
from tests.process.receiver import Receiver


@pytest.fixture
def place() -> Iterator[Path]:
    """A folder of the test's own."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-upgrade-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def empty_url(postgres: TestServer) -> AsyncIterator[str]:
    """A database without anything in it."""
    async with postgres.database("template0") as url:
        yield url


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """A receiver of the test's own."""
    receiver = Receiver()
    yield receiver
    receiver.close()
