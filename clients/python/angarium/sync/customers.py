# Made from angarium/aio by generate_sync.py; do not edit.
"""Customers: their names and quotas, and what they have."""

from angarium.calls import Call, at
from angarium.shapes import Customer, CustomerQuotas
from angarium.sync.resource import Resource


class Customers(Resource):
    """The accounts of the workspace's customers, by their customerExternalId."""

    def get(self, external_id: str) -> Customer:
        """Return a customer's account, with its limits and what it has."""
        return self._send(Call("GET", at("customers", external_id)))

    def put(
        self,
        external_id: str,
        *,
        name: str | None = None,
        quotas: CustomerQuotas | None = None,
    ) -> Customer:
        """Set a customer's name and quotas; what is left out is as if nothing was said before."""
        body = {"name": name, "quotas": quotas}
        return self._send(Call("PUT", at("customers", external_id), body=body))
