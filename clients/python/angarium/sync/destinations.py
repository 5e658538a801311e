# Made from angarium/aio by generate_sync.py; do not edit.
"""Destinations: where events are delivered, and how that goes."""

from collections.abc import Iterator, Mapping
from typing import Any, Unpack

from angarium.calls import PAGE, Call, at, body_of, query_of
from angarium.filters import DestinationFilter
from angarium.shapes import (
    Analytics,
    Delivery,
    DeliveryOptions,
    Destination,
    DestinationChange,
    Granularity,
    Health,
    Page,
    Period,
    Success,
    TestResult,
)
from angarium.sync.resource import Resource, follow_pages

LONGEST_ATTEMPT_S = 75.0  # a destination's timeout is 60 s at the most


class Destinations(Resource):
    """Destinations."""

    def create(
        self,
        name: str,
        url: str,
        *,
        description: str | None = None,
        customer_external_id: str | None = None,
        customer_account_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        delivery: DeliveryOptions | Mapping[str, Any] | None = None,
        signing: Mapping[str, Any] | None = None,
    ) -> Destination:
        """Create a destination. The answer's `secret` is shown this once."""
        body = {
            "name": name,
            "url": url,
            "description": description,
            "customer_external_id": customer_external_id,
            "customer_account_id": customer_account_id,
            "headers": None if headers is None else dict(headers),
            "delivery": None if delivery is None else dict(delivery),
            "signing": None if signing is None else dict(signing),
        }
        return self._send(Call("POST", "/destinations", body=body_of(body), repeatable=False))

    def create_from_template(
        self,
        template_id: str,
        name: str,
        config: Mapping[str, Any],
        *,
        description: str | None = None,
        customer_external_id: str | None = None,
        customer_account_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        delivery: DeliveryOptions | Mapping[str, Any] | None = None,
        signing: Mapping[str, Any] | None = None,
    ) -> Destination:
        """Create a destination of a template of the catalog (`client.templates`), configured as the
        template's `configSchema` has it."""
        body = {
            "template_id": template_id,
            "name": name,
            "config": dict(config),
            "description": description,
            "customer_external_id": customer_external_id,
            "customer_account_id": customer_account_id,
            "headers": None if headers is None else dict(headers),
            "delivery": None if delivery is None else dict(delivery),
            "signing": None if signing is None else dict(signing),
        }
        return self._send(Call("POST", "/destinations", body=body_of(body), repeatable=False))

    def get(self, destination_id: str) -> Destination:
        """Return a destination."""
        return self._send(Call("GET", at("destinations", destination_id)))

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DestinationFilter],
    ) -> Page[Destination]:
        """Return one page of destinations; archived ones only with `status="ARCHIVED"`."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/destinations", query))

    def iterate(self, **chosen: Unpack[DestinationFilter]) -> Iterator[Destination]:
        """Yield all destinations that `chosen` allows, newest first."""
        return follow_pages(self._send, "/destinations", chosen)

    def update(self, destination_id: str, change: DestinationChange) -> Destination:
        """Change what `change` names; it acts on every attempt not yet begun."""
        # a rotation done twice would make two secrets, and show one
        repeatable = not change.get("rotateSecret", False)
        path = at("destinations", destination_id)
        return self._send(Call("PATCH", path, body=change, repeatable=repeatable))

    def rotate_secret(self, destination_id: str) -> Destination:
        """Make a new signing secret; both sign for 24 hours. The answer shows it this once."""
        return self.update(destination_id, {"rotateSecret": True})

    def archive(self, destination_id: str) -> Success:
        """End a destination for good; what waits for it is discarded, the record stays."""
        return self._send(Call("DELETE", at("destinations", destination_id)))

    def enable(self, destination_id: str) -> Destination:
        """Send on what was held."""
        return self._send(Call("POST", at("destinations", destination_id, "enable"), body={}))

    def disable(self, destination_id: str) -> Destination:
        """Hold deliveries until it is enabled again."""
        return self._send(Call("POST", at("destinations", destination_id, "disable"), body={}))

    def test(self, destination_id: str) -> TestResult:
        """Send a signed sample now and return what the receiver answered."""
        path = at("destinations", destination_id, "test")
        call: Call[TestResult] = Call(
            "POST", path, body={}, repeatable=False, takes_s=LONGEST_ATTEMPT_S
        )
        return self._send(call)

    def health(self, destination_id: str) -> Health:
        """Return how the destination does, from its live actor."""
        return self._send(Call("GET", at("destinations", destination_id, "health")))

    def analytics(
        self,
        destination_id: str,
        *,
        period: Period | None = None,
        granularity: Granularity | None = None,
    ) -> Analytics:
        """Return what happened over a period (24 hours, where none is given), in buckets."""
        query = query_of({"period": period, "granularity": granularity})
        return self._send(Call("GET", at("destinations", destination_id, "analytics"), query))

    def deliveries(self, destination_id: str) -> Iterator[Delivery]:
        """Yield a destination's deliveries, newest first."""
        path = at("destinations", destination_id, "deliveries")
        return follow_pages(self._send, path, {"limit": PAGE})
