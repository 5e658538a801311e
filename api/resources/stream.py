"""The live stream of an environment, as server-sent events."""

from collections.abc import Iterator
from contextlib import suppress
from typing import Annotated, Any, get_args

from pydantic import Field, RootModel

from api.call import Answer, Call, Opened
from api.live import Audience, Topic
from api.queries import Query
from api.resources.health import ages_in_store, health_view
from api.routes import READ, Embed, Method, Route
from api.services import Services
from api.shapes import DestinationHealth
from engine.actors.reports import DestinationReport
from engine.core.destination import Destination
from engine.core.vocabulary import Environment
from engine.drafts import Uuid
from engine.model.documents import invalid
from engine.model.instants import iso
from engine.model.quotas import Ability
from engine.model.words import Word
from engine.ports import StoreAwayError
from engine.replay.job import ReplayJob

TOPICS: tuple[Topic, ...] = get_args(Topic)
OF_KEYS = {"throughput"}  # topics for keys only, like `GET /observability/throughput`
JOBS = 20  # the newest replay jobs, whose progress the stream reports


class StreamQuery(Query):
    """The environment and the topics of the stream."""

    environment: Word[Environment] | None = None
    topics: str | None = Field(
        None,
        description="Some of throughput, health, deliveries, replays and dlq, separated by "
        "commas. By default all topics that the caller can see.",
    )
    destination_id: Uuid | None = Field(None, description="Only messages about this destination.")
    customer_external_id: Annotated[str, Field(min_length=1, max_length=256)] | None = Field(
        None, description="Only messages about this customer's destinations."
    )


class EventStream(RootModel[bytes]):
    """Server-sent events, until the credential or the server ends."""


class ServiceReads:
    """The services that channels read."""

    def __init__(self, services: Services) -> None:
        self._services = services

    def find(self, destination: str) -> Destination | None:
        return self._services.models.destinations.get(destination)

    def known(self, environment: int) -> Iterator[str]:
        return self._services.directory.known(environment)

    def work(self, destination: str) -> int:
        return self._services.directory.work(destination)

    async def health(
        self, destination: Destination, *, whole: bool
    ) -> tuple[DestinationReport, DestinationHealth]:
        report, ages = self._services.directory.health(destination.id), {}
        if whole:
            with suppress(StoreAwayError):  # the stream continues without the database
                reports = {destination.id: report}
                ages = await ages_in_store(self._services, destination.environment, reports)
        return report, health_view(destination, report, ages.get(destination.id))

    def throughput(self, environment: int) -> dict[str, Any]:
        _, series = self._services.throughput.last(environment)
        point = series[-2]
        now = self._services.directory.totals(environment)
        return {
            "at": iso(point.at * 1000),
            "accepted": point.counts.accepted,
            "delivered": point.counts.delivered,
            "failed": point.counts.failed,
            "attempts": point.counts.attempts,
            "pending": now.pending,
            "inFlight": now.in_flight,
        }

    async def replays(self, audience: Audience) -> list[dict[str, Any]]:
        jobs = await self._services.replay_store.page(
            audience.environment, None, audience.account, None, JOBS
        )
        return [_job(job) for job in jobs]


def _job(job: ReplayJob) -> dict[str, Any]:
    return {
        "id": job.id,
        "kind": job.kind.name,
        "status": job.status.name,
        "total": job.total,
        "enqueued": job.enqueued,
        "skipped": job.skipped,
        "delivered": job.delivered,
        "failed": job.failed,
        "finishedAt": None if job.finished_at_ms is None else iso(job.finished_at_ms),
    }


async def stream(call: Call) -> Answer:
    """Open the live stream."""
    query = call.query_as(StreamQuery)
    services, customer = call.services, call.customer
    topics = _topics(query.topics, own=customer is not None)
    workspace = call.admitted.credential.workspace

    def reveals() -> bool:
        if customer is None:
            return True
        settings = services.models.settings_for(workspace, customer.account)
        return settings.allows(Ability.VIEW_PAYLOADS)

    audience = Audience(
        environment=call.number,
        account=None if customer is None else customer.account,
        customer=query.customer_external_id,
        destination=query.destination_id,
        reveals=reveals(),
    )
    credential = call.admitted.credential

    def ended() -> bool:
        if credential.expires_at is not None and services.now() >= credential.expires_at:
            return True
        if customer is not None:
            return reveals() is not audience.reveals  # the next stream has the new permission
        return not services.models.has_key(credential.key_id)

    chunks = services.live.follow(
        credential.workspace, audience, ServiceReads(services), topics, ended
    )
    first = await anext(chunks)  # a refusal is an error answer, not a broken stream
    return Answer(200, content_type="text/event-stream", chunks=Opened(first, chunks))


def _topics(given: str | None, *, own: bool) -> list[Topic]:
    """Raises Refusal 400 for an unknown topic."""
    may = [each for each in TOPICS if not (own and each in OF_KEYS)]
    if given is None:
        return may
    named = [each for each in may if each in given.split(",")]
    if len(named) != len(given.split(",")):
        raise invalid("topics", f"must be different names of {', '.join(may)}")
    return named


ROUTES = (
    Route(
        method="GET",
        path="/stream",
        name="getStream",
        client=Method("observability.stream", by_hand=True),
        summary="Follow what happens, live",
        description="Server-sent events. The name of an event is its topic, and its data is "
        "JSON.\n\n`deliveries`: recorded outcomes as `{items, omitted}`, at most four messages a "
        "second with 50 items each. `health`: the health of destinations as `{items}`, at most "
        "once a second, 50 in a message. Only changes are sent, and only for the 200 destinations "
        "with the most work. In an environment with more than 10,000 active destinations, each "
        "second examines the next 10,000. `throughput`: the counts of the last whole second. "
        "`dlq`: the numbers of new dead letters, by destination. `replays`: the latest jobs, of "
        "all destinations, when one has changed. `missed`: the number of messages that a slow "
        "client has lost. After 3 seconds without a message the stream sends a comment.\n\nThe "
        "stream ends with its credential, when its session gains or loses the permission "
        "`viewPayloads`, and when the server stops. It shows the outcomes of the answering "
        "process. A workspace has at most 16 streams.",
        tag="Observability",
        scopes=READ,
        embed=Embed.OWN,
        handler=stream,
        query=StreamQuery,
        content_type="text/event-stream",
        responses={200: EventStream},
    ),
)
