"""Fixtures of the control plane: a `House`, a tenant in it, and callers."""

from collections.abc import AsyncIterator

import pytest

from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import Caller, House, open_house


@pytest.fixture
async def house(bridge: Bridge) -> AsyncIterator[House]:
    async with open_house(bridge) as house:
        yield house


@pytest.fixture
async def tenant(house: House) -> Tenant:
    return await house.tenant("acme")


@pytest.fixture
async def api(house: House, tenant: Tenant) -> Caller:
    """A caller with full access to DEVELOPMENT."""
    return await house.caller(await house.key(tenant))


@pytest.fixture
async def reader(house: House, tenant: Tenant) -> Caller:
    return await house.caller(await house.key(tenant, Scope.READ))


@pytest.fixture
async def neighbour(house: House) -> Caller:
    return await house.caller(await house.key(await house.tenant("neighbour")))


@pytest.fixture
async def staging(house: House, tenant: Tenant) -> Caller:
    return await house.caller(await house.key(tenant, environment=Environment.STAGING))
