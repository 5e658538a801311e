"""The routes for a destination's health."""

import math
from collections.abc import Mapping
from typing import overload

from api import shapes
from api.call import Call
from api.resources.destinations import required
from api.resources.sent import request_view
from api.routes import MANAGE, READ, Command, Embed, Method, Repeat, Route
from api.services import Services
from api.shares import Share
from engine.actors.reports import ActorReport, DestinationReport
from engine.control.inspection import SampleDraft
from engine.core.destination import Destination
from engine.core.health import CircuitState, Health, HealthState, Hold, HoldReason
from engine.core.vocabulary import DestinationStatus, Ordering
from engine.model.configuration import DestinationRecord
from engine.model.instants import iso
from engine.model.quotas import Ability
from engine.model.words import word, word_or_none
from engine.outbound.remake import SKIPPED

TAG = "Destinations"


def instant(seconds: float | None) -> str | None:
    """Return an instant of the engine as text."""
    return None if seconds is None else iso(int(seconds * 1000))


@overload
def precise(value: float, digits: int) -> float: ...
@overload
def precise(value: float | None, digits: int) -> float | None: ...
def precise(value: float | None, digits: int) -> float | None:
    """Return a measurement with at most this many digits after the point. Further digits are cut off, not
    rounded: 0.99996 does not become 1."""
    return None if value is None else math.floor(value * 10**digits) / 10**digits


async def health(call: Call) -> shapes.DestinationHealth:
    """Show a destination's health."""
    return await _health_now(call, await required(call))


async def _health_now(call: Call, record: DestinationRecord) -> shapes.DestinationHealth:
    report = call.services.directory.health(record.id)
    ages = await ages_in_store(call.services, call.number, {record.id: report})
    return health_view(record, report, ages.get(record.id))


async def ages_in_store(
    services: Services, environment: int, reports: Mapping[str, DestinationReport]
) -> dict[str, float]:
    """Return the age in seconds of each destination's oldest waiting delivery. Destinations whose waiting
    deliveries are all in memory are left out. The store is read at most once."""
    asked = [
        each
        for each, report in reports.items()
        if report.pending and (report.health is None or _knows_part(report.health))
    ]
    if not asked:
        return {}
    sent = services.directory.in_flight(environment)
    oldest = await services.queues.oldest(environment, asked, sent)
    now = services.now()
    return {each: max(0.0, now - made_at) for each, made_at in oldest.items()}


def health_view(
    record: DestinationRecord | Destination,
    report: DestinationReport,
    stored_age_s: float | None = None,
) -> shapes.DestinationHealth:
    """Return the view of a destination's health.

    `stored_age_s` is the age of the destination's oldest waiting delivery, as `ages_in_store` returned
    the age. If `stored_age_s` is None, the view shows the age of the oldest delivery in memory, unless
    some deliveries wait only in the store: then the view shows no age.
    """
    known = report.health or _at_rest(record, report)
    return {
        "destinationId": record.id,
        "state": word(known.state),
        "circuit": {
            "state": word(known.circuit),
            "openedAt": instant(known.opened_at),
            "nextProbeAt": instant(known.next_probe_at),
        },
        "hold": _hold_view(known.hold),
        "successRate": precise(known.success_rate, 4),
        "consecutiveFailures": known.consecutive_failures,
        "failingSince": instant(known.failing_since),
        "latencyMs": {
            "p50": known.latency_p50_ms,
            "p95": known.latency_p95_ms,
            "p99": known.latency_p99_ms,
        },
        "lastSuccessAt": instant(known.last_success_at),
        "lastFailureAt": instant(known.last_failure_at),
        "lastError": known.last_error,
        "queue": {
            "pending": report.pending,
            "inFlight": report.in_flight,
            "concurrency": known.concurrency if record.adapts else record.concurrency,
            "suggestedConcurrency": known.suggested_concurrency,
            "effectiveConcurrency": known.effective_concurrency,
            "arrivalsPerSecond": precise(known.arrivals_per_s, 2),
            "deliveredPerSecond": precise(known.delivered_per_s, 2),
            "drainSeconds": precise(known.drained_in_s, 0),
            "oldestPendingSeconds": precise(_oldest_s(known, stored_age_s), 1),
        },
        "actor": _actor_view(report.actor),
    }


def _knows_part(known: Health) -> bool:
    return known.stored > 0 or known.oldest_pending_s is None


def _oldest_s(known: Health, stored_age_s: float | None) -> float | None:
    if stored_age_s is None:
        return None if known.stored else known.oldest_pending_s
    return max(stored_age_s, known.oldest_pending_s or 0.0)


def _hold_view(hold: Hold | None) -> shapes.DestinationHold | None:
    if hold is None:
        return None
    return {"reason": word(hold.reason), "until": instant(hold.until)}


def _actor_view(actor: ActorReport) -> shapes.ActorState:
    return {
        "state": actor.state,
        "restarts": actor.restarts,
        "mailbox": actor.mailbox,
        "startedAt": instant(actor.started_at),
        "snapshotAt": instant(actor.snapshot_at),
    }


def _at_rest(record: DestinationRecord | Destination, report: DestinationReport) -> Health:
    """Return the health of a destination without an actor."""
    if record.status is not DestinationStatus.ACTIVE:
        state = HealthState.DISABLED
    else:
        state = HealthState.HEALTHY if report.pending else HealthState.IDLE
    return Health(
        state=state,
        circuit=CircuitState.CLOSED,
        opened_at=None,
        next_probe_at=None,
        success_rate=None,
        consecutive_failures=0,
        latency_p50_ms=None,
        latency_p95_ms=None,
        latency_p99_ms=None,
        last_success_at=None,
        last_failure_at=None,
        last_error=None,
        pending=report.pending,
        stored=report.pending,
        in_flight=report.in_flight,
        concurrency=record.concurrency,
        effective_concurrency=_allowed_at_rest(record),
        suggested_concurrency=None,
        oldest_pending_s=None,
        hold=None if state is not HealthState.DISABLED else Hold(HoldReason.DISABLED),
    )


def _allowed_at_rest(record: DestinationRecord | Destination) -> int:
    if record.status is not DestinationStatus.ACTIVE:
        return 0
    return 1 if record.ordering is Ordering.STRICT else record.concurrency


async def resume(call: Call) -> shapes.DestinationHealth:
    """Lift the hold on a destination."""
    record = await required(call)
    await call.services.deliveries.resume(call.principal, record)
    return await _health_now(call, record)


async def test(call: Call) -> shapes.TestResult:
    """Send a sample now."""
    if call.customer is not None:
        await required(call)
    draft = SampleDraft() if call.body is None else call.body_as(SampleDraft)
    inspections, identifier = call.services.inspections, call.identifier()
    if draft.dry_run:
        shown = await request_view(call, await inspections.rehearse(call.number, identifier, draft))
        return _rehearsed(shown)
    inspection = await inspections.test(call.number, identifier, draft, call.customer)
    outcome = inspection.outcome
    return {
        "deliveryId": inspection.delivery,
        "success": outcome.success,
        "skipped": outcome.skipped,
        "responseStatus": outcome.status,
        "durationMs": outcome.duration_ms,
        "errorCategory": word_or_none(outcome.category),
        "errorMessage": outcome.message,
        "responseBody": None if outcome.status is None else outcome.body.decode("utf-8", "replace"),
        "request": None,
    }


def _rehearsed(request: shapes.SentRequest | None) -> shapes.TestResult:
    made = request is not None and request["body"] is not None
    return {
        "deliveryId": None,
        "success": made,
        "skipped": request is not None and request["note"] == SKIPPED,
        "responseStatus": None,
        "durationMs": None,
        "errorCategory": None,
        "errorMessage": None,
        "responseBody": None,
        "request": request,
    }


ROUTES = (
    Route(
        method="POST",
        path="/destinations/{id}/resume",
        name="resumeDestination",
        command=Command("destinations resume"),
        client=Method("destinations.resume"),
        summary="Lift the hold on a destination",
        description="Ends the pause that the receiver asked for with Retry-After. An open circuit "
        "sends a probe at once, and closes if the probe succeeds. The answer is the destination's "
        "health, which can still show the hold for a moment. 409 if the destination is DISABLED "
        "or ARCHIVED.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.SWITCH_DESTINATIONS,
        withheld=("lastError",),
        handler=resume,
        action=True,
        refusals=(404, 409),
    ),
    Route(
        method="POST",
        path="/destinations/{id}/test",
        share=Share.OUTWARD,
        name="testDestination",
        client=Method("destinations.test"),
        repeat=Repeat.NEVER,
        takes_s=75.0,  # a destination's timeout is at most 60 s
        summary="Send a signed sample",
        description="Sends a sample event at once, also to a disabled destination, and beside its "
        "limit of concurrency. The delivery is recorded with the origin INSPECTION, never retried "
        "and not counted. With `dryRun` nothing is sent: `request` is the request without its "
        "signature and with masked values, and `success` is true if the request can be made.",
        tag=TAG,
        scopes=MANAGE,
        embed=Embed.OWN,
        ability=Ability.TEST_DESTINATIONS,
        withheld=("responseBody", "request.body"),
        handler=test,
        body=SampleDraft,
        action=True,
        refusals=(404, 409),
        example={"eventType": "order.created", "payload": {"id": "ord_1042"}, "dryRun": True},
    ),
    Route(
        method="GET",
        path="/destinations/{id}/health",
        name="getDestinationHealth",
        command=Command("destinations health"),
        client=Method("destinations.health"),
        summary="Show the health of a destination",
        tag=TAG,
        scopes=READ,
        embed=Embed.OWN,
        withheld=("lastError",),
        handler=health,
        refusals=(404,),
    ),
)
