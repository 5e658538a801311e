"""Fixtures with a whole server in the test's process."""

from collections.abc import AsyncIterator

import pytest

from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.service.house import ServiceHouse, open_service
from tests.service.receiver import Receiver, open_receiver


@pytest.fixture
async def house(bridge: Bridge) -> AsyncIterator[ServiceHouse]:
    async with open_service(bridge) as house:
        yield house


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that answers 204."""
    async with open_receiver() as receiver:
        yield receiver


@pytest.fixture
async def tenant(house: ServiceHouse) -> Tenant:
    return await house.tenant("acme")


@pytest.fixture
async def api(house: ServiceHouse, tenant: Tenant) -> Caller:
    """A caller with full access to DEVELOPMENT."""
    return await house.caller(tenant)


@pytest.fixture
async def neighbour(house: ServiceHouse) -> Caller:
    return await house.caller(await house.tenant("neighbour"))
