"""The street with everything as it is in production, but for loopback being allowed."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.street import Street, open_street


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    """A client that may visit 127.0.0.0/8."""
    async with open_street() as street:
        yield street
