# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.destinations`."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any, Literal, Unpack

from angarium.aio.resource import AsyncResource, follow_pages
from angarium.calls import PAGE, Call, at, body_of, query_of
from angarium.filters import DestinationFilter
from angarium.shapes import (
    Analytics,
    AnalyticsGranularity,
    AnalyticsPeriod,
    BasicAuthentication,
    BearerAuthentication,
    ClientCredentialsAuthentication,
    DeliveryItem,
    DeliveryOptions,
    Destination,
    DestinationHealth,
    DestinationPatch,
    DestinationSummary,
    DestinationWithSecret,
    Environment,
    HttpMethod,
    Lane,
    MutualTlsAuthentication,
    Page,
    SigningOptions,
    Success,
    TestResult,
)


class AsyncDestinations(AsyncResource):
    """The receivers of events, with their settings: order, rate, retries, signing."""

    async def create(
        self,
        name: str,
        url: str,
        *,
        description: str | None = None,
        customer_external_id: str | None = None,
        customer_account_id: str | None = None,
        headers: Mapping[str, str] | None = None,
        delivery: DeliveryOptions | Mapping[str, Any] | None = None,
        signing: SigningOptions | Mapping[str, Any] | None = None,
        method: HttpMethod | None = None,
        authentication: BasicAuthentication
        | Mapping[str, Any]
        | BearerAuthentication
        | ClientCredentialsAuthentication
        | MutualTlsAuthentication
        | None = None,
        disable_after_seconds: int | None = None,
        secret: str | None = None,
    ) -> DestinationWithSecret:
        """Create a destination.

        Only this answer has the signing secret. `secret` sets your own secret.
        `customerExternalId` creates the account of a new customer. A destination that an
        embed session creates belongs to its customer.

        There are two forms. With `url`: the receiver gets the event unchanged. With
        `templateId` and `config`: the template makes URL, headers and body. The template's
        defaults, such as the service's rate limit, apply to missing fields of `delivery`.

        `authentication` says how requests authenticate: with a password, a token, tokens from
        a token endpoint, or a client certificate. All kinds except MTLS set the header
        Authorization; then `headers` cannot set it.
        """
        return await self._send(
            Call(
                "POST",
                "/destinations",
                body=body_of(
                    {
                        "name": name,
                        "url": url,
                        "description": description,
                        "customer_external_id": customer_external_id,
                        "customer_account_id": customer_account_id,
                        "headers": headers,
                        "delivery": delivery,
                        "signing": signing,
                        "method": method,
                        "authentication": authentication,
                        "disable_after_seconds": disable_after_seconds,
                        "secret": secret,
                    }
                ),
                repeatable=False,
            )
        )

    async def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DestinationFilter],
    ) -> Page[Destination]:
        """List destinations: one page."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return await self._send(Call("GET", "/destinations", query))

    def iterate(self, **chosen: Unpack[DestinationFilter]) -> AsyncIterator[Destination]:
        """List destinations: all pages."""
        return follow_pages(self._send, "/destinations", {**chosen})

    async def get(self, destination_id: str) -> Destination:
        """Show a destination."""
        return await self._send(Call("GET", at("destinations", destination_id)))

    async def update(self, destination_id: str, change: DestinationPatch) -> DestinationWithSecret:
        """Change a destination.

        A merge patch (RFC 7396): null puts a field back to its default, and removes a header.
        The change applies to attempts that begin later. With `rotateSecret` the answer has a
        new secret. The former secret also signs for `graceSeconds` (by default 86400); 0 ends
        every former secret at once. A mask (`***`) keeps the stored value. If the URL's
        scheme, host or port changes, give each masked header again, or remove it. The same
        holds for the secrets of `authentication`, also if its `tokenUrl` changes. Another
        `kind` replaces the whole `authentication`, and null removes it.

        For a destination from a template, `config` is merged too. A mask keeps the stored
        secret, but if the requests go to another host, give all secrets again. `templateId`
        cannot be changed, and the template makes `url`.
        """
        return await self._send(
            Call(
                "PATCH",
                at("destinations", destination_id),
                body=change,
                repeatable=not change.get("rotateSecret"),
            )
        )

    async def archive(self, destination_id: str) -> Success:
        """Archive a destination.

        Waiting deliveries and dead letters of the destination are discarded. The destination
        stays readable.
        """
        return await self._send(Call("DELETE", at("destinations", destination_id)))

    async def enable(self, destination_id: str) -> Destination:
        """Enable a destination.

        The deliveries that were held as PENDING are sent.
        """
        return await self._send(Call("POST", at("destinations", destination_id, "enable"), body={}))

    async def disable(self, destination_id: str) -> Destination:
        """Disable a destination.

        Its deliveries are held as PENDING until the destination is enabled.
        """
        return await self._send(
            Call("POST", at("destinations", destination_id, "disable"), body={})
        )

    def summaries(
        self,
        *,
        environment: Environment | None = None,
        name: str | None = None,
        state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
        | Sequence[Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]]
        | None = None,
        customer_external_id: str | Sequence[str] | None = None,
        sort: Literal["trouble", "pending", "age", "name"] | None = None,
    ) -> AsyncIterator[DestinationSummary]:
        """List destinations with their health and their last 24 hours: all pages.

        Archived destinations are left out. With the order `trouble`, failing destinations and
        disabled ones with waiting deliveries come first, then degraded, healthy, idle, and
        other disabled ones. Within each kind the longest queue comes first. A destination
        that has not recovered counts as failing, even if no delivery waits for it. The order
        is at most a second old: a destination can move between two pages.
        """
        return follow_pages(
            self._send,
            "/destinations/summaries",
            {
                "environment": environment,
                "name": name,
                "state": state,
                "customer_external_id": customer_external_id,
                "sort": sort,
                "limit": PAGE,
            },
        )

    async def resume(self, destination_id: str) -> DestinationHealth:
        """Lift the hold on a destination.

        Ends the pause that the receiver asked for with Retry-After. An open circuit sends a
        probe at once, and closes if the probe succeeds. The answer is the destination's
        health, which can still show the hold for a moment. 409 if the destination is DISABLED
        or ARCHIVED.
        """
        return await self._send(Call("POST", at("destinations", destination_id, "resume"), body={}))

    async def test(
        self,
        destination_id: str,
        *,
        event_type: str | None = None,
        payload: Mapping[str, Any] | None = None,
        dry_run: bool | None = None,
    ) -> TestResult:
        """Send a signed sample.

        Sends a sample event at once, also to a disabled destination, and beside its limit of
        concurrency. The delivery is recorded with the origin INSPECTION, never retried and
        not counted. With `dryRun` nothing is sent: `request` is the request without its
        signature and with masked values, and `success` is true if the request can be made.
        """
        return await self._send(
            Call(
                "POST",
                at("destinations", destination_id, "test"),
                body=body_of({"event_type": event_type, "payload": payload, "dry_run": dry_run}),
                repeatable=False,
                takes_s=75.0,
            )
        )

    async def health(self, destination_id: str) -> DestinationHealth:
        """Show the health of a destination."""
        return await self._send(Call("GET", at("destinations", destination_id, "health")))

    def deliveries(self, destination_id: str) -> AsyncIterator[DeliveryItem]:
        """List a destination's deliveries: all pages."""
        return follow_pages(
            self._send, at("destinations", destination_id, "deliveries"), {"limit": PAGE}
        )

    async def lanes(
        self, destination_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Lane]:
        """List a destination's lanes: one page.

        Lists the ordered lanes with waiting deliveries. The lane whose head, its first
        delivery, is the oldest comes first. A destination with ordering NONE has no lanes.
        The server examines the destination's 5,000 oldest unsettled deliveries; if there are
        more, `atLeast` is true.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return await self._send(Call("GET", at("destinations", destination_id, "lanes"), query))

    async def analytics(
        self,
        destination_id: str,
        *,
        period: AnalyticsPeriod | None = None,
        granularity: AnalyticsGranularity | None = None,
    ) -> Analytics:
        """Show a destination's counters over a period.

        Replays count; samples (INSPECTION) and dry runs do not. The counters are written
        together with the delivery log, so they equal its rows. The period ends with the
        present minute, and is the same at every granularity. Points are minutes, hours or
        days in UTC; the period cuts off the first and the last point. Every granularity is
        allowed with every period. Latency is interpolated within buckets; each bucket's bound
        is 1.6 times the one before. Counters stay for 31 days, whatever the plan's retention
        is.
        """
        return await self._send(
            Call(
                "GET",
                at("destinations", destination_id, "analytics"),
                query_of({"period": period, "granularity": granularity}),
            )
        )
