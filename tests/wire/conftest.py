"""The street with production settings, except that loopback is allowed."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.street import Street, open_street


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    """A wire client that can connect to 127.0.0.0/8."""
    async with open_street() as street:
        yield street
