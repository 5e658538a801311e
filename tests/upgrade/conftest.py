"""Fixtures of the upgrade tests: a folder, an empty database, and a receiver.

If root runs the tests, PostgreSQL runs as another account. This account must be able to enter the folder.
"""

import shutil
import tempfile
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest

from tests.postgres import TestServer
from tests.process.receiver import Receiver


@pytest.fixture
def place() -> Iterator[Path]:
    folder = Path(tempfile.mkdtemp(prefix="angarium-upgrade-"))
    yield folder
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
async def empty_url(postgres: TestServer) -> AsyncIterator[str]:
    async with postgres.database("template0") as url:
        yield url


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    receiver = Receiver()
    yield receiver
    receiver.close()
