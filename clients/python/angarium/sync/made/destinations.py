# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.destinations` that are made."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, Unpack

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
from angarium.sync.resource import Resource, follow_pages


class Destinations(Resource):
    """Where events are delivered to, and how: order, rate, retries, signing."""

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

        The signing secret is in the answer, once. `secret` brings one's own.
        `customerExternalId` opens the customer's account when it is new. What an embed
        session creates is tied to its customer.

        There are two forms. Direct: a `url` that is sent the event as it is. From a template
        of the catalog: `templateId` and `config`, of which the template makes URL, headers
        and body; its own defaults, such as the service's rate limit, stand where `delivery`
        says nothing.

        `authentication` says how requests prove who sends them: a password, a token, tokens
        of a token endpoint, or a client certificate. All kinds but MTLS set the header
        Authorization, which no other header may set then.
        """
        return self._send(
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

    def list(
        self,
        *,
        limit: int | None = None,
        cursor: str | None = None,
        **chosen: Unpack[DestinationFilter],
    ) -> Page[Destination]:
        """List destinations: one page."""
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/destinations", query))

    def iterate(self, **chosen: Unpack[DestinationFilter]) -> Iterator[Destination]:
        """List destinations: all pages."""
        return follow_pages(self._send, "/destinations", {**chosen})

    def get(self, destination_id: str) -> Destination:
        """Show a destination."""
        return self._send(Call("GET", at("destinations", destination_id)))

    def update(self, destination_id: str, change: DestinationPatch) -> DestinationWithSecret:
        """Change a destination.

        A merge patch (RFC 7396): null puts a field back to its default, and removes a header.
        It acts on attempts not yet begun. With `rotateSecret` the answer holds a new secret.
        The previous one signs as well for `graceSeconds` (86400); 0 ends every former one at
        once. A masked value that is sent back stays; when the URL's scheme, host or port
        changes, each masked header must be given anew or removed. The same holds for the
        secrets of `authentication`, also when its `tokenUrl` changes; another `kind` replaces
        all of it, and null removes it.

        Where it was made from a template, `config` merges like the rest: a secret whose mask
        is sent back stays, and each must be given anew when the requests go to another host.
        `templateId` cannot be changed, and `url` is the template's to make.
        """
        return self._send(
            Call(
                "PATCH",
                at("destinations", destination_id),
                body=change,
                repeatable=not change.get("rotateSecret"),
            )
        )

    def archive(self, destination_id: str) -> Success:
        """Archive a destination.

        Waiting deliveries and those in the dead-letter queue are discarded. The destination's
        record stays readable.
        """
        return self._send(Call("DELETE", at("destinations", destination_id)))

    def enable(self, destination_id: str) -> Destination:
        """Enable a destination.

        Deliveries held as PENDING are sent.
        """
        return self._send(Call("POST", at("destinations", destination_id, "enable"), body={}))

    def disable(self, destination_id: str) -> Destination:
        """Disable a destination.

        Deliveries are held as PENDING until it is enabled.
        """
        return self._send(Call("POST", at("destinations", destination_id, "disable"), body={}))

    def summaries(
        self,
        *,
        environment: Environment | None = None,
        name: str | None = None,
        state: Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]
        | Sequence[Literal["HEALTHY", "DEGRADED", "FAILING", "IDLE", "DISABLED"]]
        | None = None,
        customer_external_id: str | Sequence[str] | None = None,
        sort: Literal["trouble", "pending", "name"] | None = None,
    ) -> Iterator[DestinationSummary]:
        """List destinations with their health and their last 24 hours: all pages.

        Without archived destinations. Sorted by `trouble`, failing destinations come first,
        then degraded ones, disabled ones with waiting deliveries, healthy, idle and other
        disabled ones. Within each kind the longest queue comes first. A destination that has
        not recovered counts as failing, even if no delivery waits for it. The order is live,
        at most a second old: between two pages a destination can change its place.
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

    def resume(self, destination_id: str) -> DestinationHealth:
        """Lift the hold on a destination.

        A Retry-After of its receiver ends, and an open circuit probes at once; a success
        closes it. The answer is the destination's health, which can still show the hold for a
        moment. 409 if it is DISABLED or ARCHIVED.
        """
        return self._send(Call("POST", at("destinations", destination_id, "resume"), body={}))

    def test(
        self,
        destination_id: str,
        *,
        event_type: str | None = None,
        payload: Mapping[str, Any] | None = None,
        dry_run: bool | None = None,
    ) -> TestResult:
        """Send a signed sample.

        Sends an event at once, also to a disabled destination, outside its concurrency. It is
        recorded (origin INSPECTION), never retried and counted nowhere. With `dryRun` nothing
        is sent: `request` is what would be, without its signature and with masked values.
        `success` then says whether the request can be made.
        """
        return self._send(
            Call(
                "POST",
                at("destinations", destination_id, "test"),
                body=body_of({"event_type": event_type, "payload": payload, "dry_run": dry_run}),
                repeatable=False,
                takes_s=75.0,
            )
        )

    def health(self, destination_id: str) -> DestinationHealth:
        """Show the health of a destination."""
        return self._send(Call("GET", at("destinations", destination_id, "health")))

    def deliveries(self, destination_id: str) -> Iterator[DeliveryItem]:
        """List a destination's deliveries: all pages."""
        return follow_pages(
            self._send, at("destinations", destination_id, "deliveries"), {"limit": PAGE}
        )

    def lanes(
        self, destination_id: str, *, limit: int | None = None, cursor: str | None = None
    ) -> Page[Lane]:
        """List a destination's lanes: one page.

        The ordered lanes with waiting deliveries, the one with the oldest head first. A
        destination with ordering NONE has no lanes. The destination's 5,000 oldest unsettled
        deliveries are examined; if there are more, `atLeast` is true.
        """
        query = query_of({"limit": limit, "cursor": cursor})
        return self._send(Call("GET", at("destinations", destination_id, "lanes"), query))

    def analytics(
        self,
        destination_id: str,
        *,
        period: AnalyticsPeriod | None = None,
        granularity: AnalyticsGranularity | None = None,
    ) -> Analytics:
        """Show a destination's counters over a period.

        Counted by the very statement that writes the delivery log, so that sums equal its
        rows. Replays count; samples (INSPECTION) and dry runs do not. The period ends with
        the minute that is now, and is the same at every granularity: points are minutes,
        hours or days in UTC, the first and the last of them cut to the period. Every
        combination is valid. Latency is interpolated within buckets whose bounds grow by 1.6.
        Counters stay for 31 days, whatever the plan's retention.
        """
        return self._send(
            Call(
                "GET",
                at("destinations", destination_id, "analytics"),
                query_of({"period": period, "granularity": granularity}),
            )
        )
