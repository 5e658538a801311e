"""The present throughput of an environment, from memory."""

from api.call import Call
from api.queries import Query
from api.routes import READ, Embed, Method, Route
from api.shapes.observability import LoopHealth, Throughput, ThroughputPoint
from engine.core.vocabulary import Environment
from engine.model.instants import iso
from engine.model.words import Word, word
from engine.recording.throughput import WINDOW_S, Point


class ThroughputQuery(Query):
    """The environment of the rates."""

    environment: Word[Environment]


async def throughput(call: Call) -> Throughput:
    """Show the rates of accepted and delivered events, and the waiting deliveries."""
    call.query_as(ThroughputQuery)
    total, series = call.services.throughput.last(call.number)
    now = call.services.directory.totals(call.number)
    return {
        "environment": word(call.environment_name),
        "at": iso(int(call.services.now() * 1000)),
        "windowSeconds": WINDOW_S,
        "accepted": round(total.accepted / WINDOW_S, 3),
        "delivered": round(total.delivered / WINDOW_S, 3),
        "failed": round(total.failed / WINDOW_S, 3),
        "attempts": round(total.attempts / WINDOW_S, 3),
        "pending": now.pending,
        "inFlight": now.in_flight,
        "series": [_point(point) for point in series],
        "loop": _loop(call),
    }


def _loop(call: Call) -> LoopHealth:
    """Return the view of the event loop's long steps. Its field `ownLongSteps` counts only the long steps
    that were caused by work for the caller's environment or workspace."""
    watch = call.services.watch
    known = watch.statistics()
    return {
        "limitMs": known.limit_s * 1000,
        "longSteps": known.long_steps,
        "longestStepMs": round(known.longest_s * 1000, 3),
        "mostStepCpuMs": round(known.most_cpu_s * 1000, 3),
        "ownLongSteps": watch.of(call.number) + watch.of(call.admitted.credential.workspace),
    }


def _point(point: Point) -> ThroughputPoint:
    counts = point.counts
    return {
        "at": iso(point.at * 1000),
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
        description="Rates over the last 60 seconds, including the present one, counted by the "
        "answering process since its start. `accepted` counts durable events, without the "
        "service's own events. `delivered`, `attempts` and `failed` count recorded outcomes: "
        "deliveries that succeeded, attempts, and failed attempts. Samples and dry runs do not "
        "count.",
        tag="Observability",
        scopes=READ,
        embed=Embed.REFUSED,
        handler=throughput,
        query=ThroughputQuery,
    ),
)
