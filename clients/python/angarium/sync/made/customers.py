# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.customers`."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from angarium.calls import PAGE, Call, at, body_of, query_of
from angarium.filters import CustomerFilter
from angarium.shapes import Customer, CustomerItem, Page, PermissionsDraft, QuotasDraft
from angarium.sync.resource import Resource, follow_pages


class Customers(Resource):
    """The accounts of customers: their quotas, permissions and objects."""

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[CustomerFilter],
    ) -> Page[CustomerItem]:
        """List customers: one page.

        Sorted by the bytes of `customerExternalId`.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/customers", query))

    def iterate(self, **chosen: Unpack[CustomerFilter]) -> Iterator[CustomerItem]:
        """List customers: all pages.

        Sorted by the bytes of `customerExternalId`.
        """
        return follow_pages(self._send, "/customers", {**chosen, "limit": PAGE})

    def get(self, external_id: str) -> Customer:
        """Show a customer.

        Shows the account: the quotas that the workspace has set, the limits of the customer's
        embed sessions, and the numbers of its objects. An account exists once an event, a
        destination or a session has named the customer.
        """
        return self._send(Call("GET", at("customers", external_id)))

    def put(
        self,
        external_id: str,
        *,
        name: str | None = None,
        quotas: QuotasDraft | Mapping[str, Any] | None = None,
        permissions: PermissionsDraft | Mapping[str, Any] | None = None,
    ) -> Customer:
        """Set a customer's name, quotas and permissions.

        The request replaces all earlier values. Quotas and permissions limit the customer's
        embed sessions, at once in this process and within a second in others. The workspace's
        keys are limited only by the plan.
        """
        return self._send(
            Call(
                "PUT",
                at("customers", external_id),
                body=body_of({"name": name, "quotas": quotas, "permissions": permissions}),
            )
        )

    def erase(self, external_id: str) -> Customer:
        """Erase a customer's contents.

        Archives the customer's destinations, with their rules. Erases the contents of all
        events accepted for the customer so far: payloads, metadata, files, receivers' answers
        and script output, as `DELETE /events/{id}/payload` does. The erasure continues after
        the answer, and after a restart of the server, until `erasure.finishedAt` is set. The
        account, the events, the deliveries and the counters stay.
        """
        return self._send(Call("DELETE", at("customers", external_id)))
