"""A fixture: a wire client, for which tests open receivers. The settings are those of production, but the
client can also connect to loopback addresses."""

from collections.abc import AsyncIterator

import pytest

from tests.wire.street import Street, open_street


@pytest.fixture
async def street() -> AsyncIterator[Street]:
    async with open_street() as street:
        yield street
