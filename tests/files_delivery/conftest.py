"""A whole server with sources of files, and a receiver."""

from collections.abc import AsyncIterator

import pytest

from tests.files_delivery.source import Origin, open_origin
from tests.service.conftest import api, house, neighbour, receiver, tenant

__all__ = ["api", "house", "neighbour", "origin", "receiver", "tenant"]


@pytest.fixture
async def origin() -> AsyncIterator[Origin]:
    async with open_origin() as origin:
        yield origin
