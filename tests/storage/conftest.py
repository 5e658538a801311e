"""Fixtures for tests of the delivery log."""

import pytest

from storage.database.bridge import Bridge
from tests.storage.world import World


@pytest.fixture
async def world(bridge: Bridge) -> World:
    return await World(bridge).take()
