# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.observability` that are made."""

from angarium.aio.resource import AsyncResource
from angarium.calls import Call, query_of
from angarium.shapes import (
    AnalyticsGranularity,
    AnalyticsPeriod,
    Counts,
    Environment,
    EnvironmentAnalytics,
    Findings,
)


class AsyncObservability(AsyncResource):
    """How destinations and the environment do, from live actors and committed counters."""

    async def analytics(
        self,
        *,
        period: AnalyticsPeriod | None = None,
        granularity: AnalyticsGranularity | None = None,
        environment: Environment | None = None,
    ) -> EnvironmentAnalytics:
        """Show an environment's counters over a period.

        The sums of all its destinations, archived ones too, as a destination's analytics show
        them. `topDestinations` are the ten with the most attempts.
        """
        return await self._send(
            Call(
                "GET",
                "/observability/analytics",
                query_of(
                    {"period": period, "granularity": granularity, "environment": environment}
                ),
            )
        )

    async def counts(self, *, environment: Environment | None = None) -> Counts:
        """Count an environment's waiting deliveries and dead letters.

        Waiting deliveries and those in flight come from memory, at most a second old.
        `retrying` and `inDlq` are counted in the log up to 10,000 each: at that number
        `atLeast` is true.
        """
        return await self._send(
            Call("GET", "/observability/counts", query_of({"environment": environment}))
        )

    async def lookup(self, q: str, *, environment: Environment | None = None) -> Findings:
        """Find by id, key or name.

        Finds what has the id `q`, the event that holds the idempotency key `q`, customers
        whose customerExternalId begins with `q`, and event types that begin with it among the
        2,000 latest events. Nothing found is an empty list.
        """
        return await self._send(
            Call("GET", "/lookup", query_of({"q": q, "environment": environment}))
        )
