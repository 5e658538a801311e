"""Inference of schemas: a draft for an event type, made from the type's recent events."""

import json
from collections.abc import Callable
from functools import partial
from itertools import islice
from typing import Any

import trio
from msgspec import Struct
from pydantic import Field

from engine.control.audit import Principal
from engine.control.schemas import EventType, SchemaCommands, SchemaDraft, judge
from engine.drafts import Document
from engine.log.delivery_log import EventFilter, EventLog
from engine.model.errors import Refusal
from engine.model.instants import Instant
from engine.runtime.fair_semaphore import FairSemaphore
from engine.schemas.compiled import decode
from engine.schemas.observation import Observation, ObservationRoom
from engine.schemas.records import SchemaRecord, SchemaStore

SAMPLE = 100
SAMPLE_MOST = 1_000
EXAMINED_PAGES = 10  # of the log, 2,000 events each: the search for a rare type ends there
SAMPLE_BYTES = 4 << 20  # read and looked at in about half a second, in slices
AT_ONCE = 2  # inferences; others wait
EACH = 1  # of one environment
CONFLICTS = 20
DEPTHS = (64, 8, 5, 3, 2, 1, 0)  # tried in turn until the schema is small enough


class InferenceDraft(Document):
    """The selection of events from which a schema is inferred."""

    event_type: EventType
    sample: int = Field(SAMPLE, ge=1, le=SAMPLE_MOST, description="The most events.")
    from_: Instant | None = Field(None, alias="from", description="Received at or after.")
    create: bool = Field(False, description="Also create a draft from the schema.")


class Inferred(Struct, frozen=True):
    """An inferred schema. `conflicts` are (path, message)."""

    sampled: int
    schema: dict[str, Any]
    conflicts: list[tuple[str, str]]
    created: SchemaRecord | None


class Inference:
    """The inference of schemas, a few at a time."""

    def __init__(self, events: EventLog, store: SchemaStore, schemas: SchemaCommands) -> None:
        self._events = events
        self._store = store
        self._schemas = schemas
        self._turns = FairSemaphore(AT_ONCE, EACH)

    async def infer(
        self, principal: Principal, environment: int, draft: InferenceDraft
    ) -> Inferred:
        """Return the schema of a type's newest events. Raises Refusal 404 where there are none."""
        async with self._turns.held(environment):
            payloads = await self._sample(environment, draft)
            if not payloads:
                raise Refusal(
                    "not_found", "no recent event has this type: check eventType and from"
                )
            sight, room = Observation(), ObservationRoom()
            for payload in payloads:
                for _ in sight.look(decode(payload), room):
                    await trio.lowlevel.checkpoint()
                await trio.lowlevel.checkpoint()
            propose = partial(_proposal, draft.event_type, len(payloads), sight.schema)
            proposal = await self._schemas.judging.done(environment, propose)
        created = None
        if draft.create:
            created = await self._schemas.create(principal, environment, proposal)
        schema = proposal.schema_
        assert isinstance(schema, dict)
        return Inferred(len(payloads), schema, list(islice(sight.conflicts(), CONFLICTS)), created)

    async def _sample(self, environment: int, draft: InferenceDraft) -> list[bytes]:
        which = EventFilter(types=(draft.event_type,), from_ms=draft.from_)
        found: list[str] = []
        below: str | None = None
        for _ in range(EXAMINED_PAGES):
            page = await self._events.events(environment, which, below, draft.sample - len(found))
            found += [event.id for event in page.items if event.erased_at_ms is None]
            below = page.below
            if below is None or len(found) >= draft.sample:
                break
        return await self._store.payloads(environment, found, SAMPLE_BYTES)


def _proposal(
    event_type: str,
    sampled: int,
    schema_at: Callable[[int], dict[str, Any]],
    pause: Callable[[], None],
) -> SchemaDraft:
    """Return the most detailed schema that is not refused."""
    description = f"Inferred from {sampled} event{'' if sampled == 1 else 's'}."
    for depth in DEPTHS:
        # One Python object can occur at two places of the schema. Encoding and decoding it as JSON makes
        # a separate object for each place.
        schema = json.loads(json.dumps(schema_at(depth)))
        pause()
        proposal = SchemaDraft.model_validate(
            {"eventType": event_type, "schema": schema, "description": description}
        )
        try:
            judge(proposal, pause)
        except Refusal:
            continue
        return proposal
    raise AssertionError("a schema of one type is always small enough")
