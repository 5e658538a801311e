"""Customers: their names and quotas, and what they have."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call, at
from angarium.shapes import Customer, CustomerQuotas


class AsyncCustomers(AsyncResource):
    """The accounts of the workspace's customers, by their customerExternalId."""

    async def get(self, external_id: str) -> Customer:
        """Return a customer's account, with its limits and what it has."""
        return await self._send(Call("GET", at("customers", external_id)))

    async def put(
        self,
        external_id: str,
        *,
        name: str | None = None,
        quotas: CustomerQuotas | None = None,
    ) -> Customer:
        """Set a customer's name and quotas; what is left out is as if nothing was said before."""
        body = {"name": name, "quotas": quotas}
        return await self._send(Call("PUT", at("customers", external_id), body=body))
