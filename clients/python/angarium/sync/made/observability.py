# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.observability`."""

from angarium.calls import Call, query_of
from angarium.shapes import (
    AnalyticsGranularity,
    AnalyticsPeriod,
    Counts,
    Environment,
    EnvironmentAnalytics,
    Findings,
)
from angarium.sync.resource import Resource


class Observability(Resource):
    """The present state of destinations and environments, and their counters."""

    def analytics(
        self,
        *,
        period: AnalyticsPeriod | None = None,
        granularity: AnalyticsGranularity | None = None,
        environment: Environment | None = None,
        customer_account_id: str | None = None,
    ) -> EnvironmentAnalytics:
        """Show an environment's counters over a period.

        Sums of all destinations, including archived ones, in the form of a destination's
        analytics. `topDestinations` are the ten with the most attempts.
        """
        return self._send(
            Call(
                "GET",
                "/observability/analytics",
                query_of(
                    {
                        "period": period,
                        "granularity": granularity,
                        "environment": environment,
                        "customer_account_id": customer_account_id,
                    }
                ),
            )
        )

    def counts(self, *, environment: Environment | None = None) -> Counts:
        """Count an environment's waiting deliveries and dead letters.

        `pending` and `inFlight` come from memory and are at most a second old. `retrying` and
        `inDlq` are counted in the stored deliveries, up to 10,000 each. If one of them is
        10,000, `atLeast` is true.
        """
        return self._send(
            Call("GET", "/observability/counts", query_of({"environment": environment}))
        )

    def lookup(self, q: str, *, environment: Environment | None = None) -> Findings:
        """Find by id, key or name.

        Finds the objects with the id `q`; events with the idempotency key or the
        correlationId `q`; destinations with `q` in their name; customers whose
        customerExternalId begins with `q`; and event types that begin with `q`, among the
        2,000 latest events. The first 8 or more characters of an id find destinations, events
        and deliveries. They tell the time of creation: the server compares the 200 latest
        events and deliveries of that time. The list is empty if nothing is found.
        """
        return self._send(Call("GET", "/lookup", query_of({"q": q, "environment": environment})))
