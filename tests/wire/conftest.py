"""A street (receivers and a wire client) with production settings, except that the client can connect to
loopback addresses."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.street import Street, open_street


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    async with open_street() as street:
        yield street
