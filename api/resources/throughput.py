"""What an environment does now, from memory."""

from typing import Any

from api.call import Answer, Call
from api.queries import Query
from api.routes import READ, Embed, Method, Route
from api.shapes.observability import Throughput
from engine.model.instants import iso
from engine.model.words import EnvironmentName
from engine.recording.throughput import WINDOW_S, Counts


class ThroughputQuery(Query):
    """Which environment."""

    environment: EnvironmentName


async def throughput(call: Call) -> Answer:
    """Say what was accepted and delivered lately, and what waits."""
    call.query_as(ThroughputQuery)
    total, series = call.services.throughput.last(call.number)
    now = call.services.directory.totals(call.number)
    return Answer(
        200,
        {
            "environment": call.environment_name.name,
            "at": iso(int(call.services.now() * 1000)),
            "windowSeconds": WINDOW_S,
            **{name: round(count / WINDOW_S, 3) for name, count in _shown(total).items()},
            "pending": now.pending,
            "inFlight": now.in_flight,
            "series": [{"at": iso(point.at * 1000), **_shown(point.counts)} for point in series],
            "loop": _loop(call),
        },
    )


def _loop(call: Call) -> dict[str, Any]:
    """Return how the process does. Whose the long steps are is told of one's own alone."""
    watch = call.services.watch
    known = watch.statistics()
    return {
        "limitMs": known.limit_s * 1000,
        "longSteps": known.long_steps,
        "longestStepMs": round(known.longest_s * 1000, 3),
        "mostStepCpuMs": round(known.most_cpu_s * 1000, 3),
        "ownLongSteps": watch.of(call.number) + watch.of(call.admitted.credential.workspace),
    }


def _shown(counts: Counts) -> dict[str, Any]:
    return {
        "accepted": counts.accepted,
        "delivered": counts.delivered,
        "failed": counts.failed,
        "attempts": counts.attempts,
    }


ROUTES = (
    Route(
        method="GET",
        path="/observability/throughput",
        name="getThroughput",
        client=Method("throughput", by_hand=True),
        summary="Show an environment's rates over the last minute",
        description="Rates over the last 60 seconds, the present one included, as this process has "
        "counted them since its start: `accepted` when events were durable (the service's own are not "
        "among them), the others when outcomes were. `delivered` counts deliveries, `attempts` and "
        "`failed` attempts; samples and dry runs do not count.",
        tag="Observability",
        scopes=READ,
        embed=Embed.REFUSED,
        handler=throughput,
        query=ThroughputQuery,
        responses={200: Throughput},
    ),
)
