"""Fixtures for tests of the delivery log."""

import pytest

from storage.database.bridge import Bridge
from tests.storage.world import World


@pytest.fixture
async def world(bridge: Bridge) -> World:
    """The stores of a process that owns a fresh database."""
    return await World(bridge).take()
