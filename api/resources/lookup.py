"""The look-up of objects by a text. The text can be an id, the beginning of an id, an event's idempotency
key or correlation id, or a name."""

import re
from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from api.call import Call
from api.queries import Query
from api.resources.counts import own_destinations
from api.routes import READ, Embed, Method, Route
from api.shapes.observability import Findings, Found, FoundKind
from engine.core.vocabulary import Environment
from engine.log.delivery_log import DeliveryFilter, EventFilter
from engine.model.documents import is_uuid
from engine.model.words import Word, word

MOST = 20  # objects of each kind, found by something else than their id
RECENT = 200  # events and deliveries compared with a part of an id: some milliseconds
# The first digits of an id, such as `01939b2e`. The id's last digits can follow, as in the lists of the
# console: `01939b2e…6b10`. The first 12 digits of an id are its time in milliseconds.
_PART = re.compile(r"([0-9a-f]{8}[0-9a-f-]*)(?:(?:…|\.\.\.)([0-9a-f]{1,12}))?")
_TIME_DIGITS = 12
Find = Callable[[Call, str], Awaitable[str | None]]


class LookupQuery(Query):
    """The text to look up."""

    q: Annotated[str, Field(min_length=1, max_length=256)] = Field(
        description="An id, or its first 8 or more characters; an idempotency key; a "
        "correlationId; a part of a destination's name; or the beginning of a customerExternalId "
        "or event type.",
        examples=["order."],
    )
    environment: Word[Environment] | None = None


async def lookup(call: Call) -> Findings:
    """Find by id, by key and correlation, and by name."""
    text = call.query_as(LookupQuery).q
    found: list[Found] = []
    part = None if is_uuid(text) else _PART.fullmatch(text.lower())
    if is_uuid(text):
        for kind, find in _BY_ID.items():
            label = await find(call, text.lower())
            if label is not None:
                found.append(_found(kind, text.lower(), label))
    if part is not None:
        found += await _by_part(call, part[1], part[2] or "")
    found += await _by_key(call, text)
    folded = text.casefold()
    destinations: list[Found] = []
    async for each in own_destinations(call):
        if len(destinations) < MOST and (
            folded in each.name.casefold()
            or (part is not None and _fits(each.id, part[1], part[2] or ""))
        ):
            destinations.append(_found(FoundKind.DESTINATION, each.id, each.name))
    found += destinations
    if call.customer is None:
        for account in await call.services.customer_store.page(call.number, text, None, MOST):
            name = account.external_id
            found.append(_found(FoundKind.CUSTOMER, name, account.name or name))
    own = None if call.customer is None else call.customer.external_id
    types = await call.services.event_finder.recent_types(call.number, text, own, MOST)
    found += [_found(FoundKind.EVENT_TYPE, each, each) for each in types]
    return {"items": found}


async def _by_key(call: Call, text: str) -> list[Found]:
    customers = None if call.customer is None else (call.customer.external_id,)
    events: dict[str, str] = {}
    for which in (
        EventFilter(idempotency_keys=(text,), customers=customers),
        EventFilter(correlation_ids=(text,), customers=customers),
    ):
        page = await call.services.event_log.events(call.number, which, None, MOST)
        events |= {entry.id: entry.type for entry in page.items}
    return [_found(FoundKind.EVENT, each, label) for each, label in events.items()][:MOST]


async def _by_part(call: Call, head: str, tail: str) -> list[Found]:
    """Find events and deliveries whose ids begin with `head` and end with `tail`. An id begins with the
    time of its creation, so `head` gives the period of creation. The search reads only the latest RECENT
    events and the latest RECENT deliveries of this period."""
    time = head.replace("-", "")[:_TIME_DIGITS]
    low = int(time.ljust(_TIME_DIGITS, "0"), 16)
    high = int(time.ljust(_TIME_DIGITS, "f"), 16) + 1
    events = await call.services.event_log.events(
        call.number, EventFilter(from_ms=low, to_ms=high), None, RECENT
    )
    deliveries = await call.services.delivery_log.deliveries(
        call.number, DeliveryFilter(from_ms=low, to_ms=high), None, RECENT
    )
    rows = [(FoundKind.EVENT, each.id, each.type, each.customer) for each in events.items]
    rows += [
        (FoundKind.DELIVERY, each.id, each.event_type, each.customer) for each in deliveries.items
    ]
    return [
        _found(kind, identifier, label)
        for kind, identifier, label, customer in rows
        if _fits(identifier, head, tail) and call.sees_customer(customer)
    ][:MOST]


def _fits(identifier: str, head: str, tail: str) -> bool:
    digits = head.replace("-", "")
    return identifier.replace("-", "").startswith(digits) and identifier.endswith(tail)


def _found(kind: FoundKind, identifier: str, label: str) -> Found:
    return {"kind": word(kind), "id": identifier, "label": label}


# --- labels by id; None if the caller cannot see the object


async def _event(call: Call, identifier: str) -> str | None:
    detail = await call.services.event_log.event(call.number, identifier)
    if detail is None or not call.sees_customer(detail.entry.customer):
        return None
    return detail.entry.type


async def _delivery(call: Call, identifier: str) -> str | None:
    entry = await call.services.delivery_log.entry(call.number, identifier)
    if entry is None or not call.sees_customer(entry.customer):
        return None
    return entry.event_type


async def _destination(call: Call, identifier: str) -> str | None:
    record = await call.services.destination_store.get(call.number, identifier)
    return record.name if record is not None and call.sees(record.customer_account) else None


async def _rule(call: Call, identifier: str) -> str | None:
    rule = await call.services.rule_store.get(call.number, identifier)
    if rule is None or (await _destination(call, rule.destination)) is None:
        return None
    return rule.name


async def _script(call: Call, identifier: str) -> str | None:
    script = await call.services.transform_store.get(call.number, identifier)
    return script.name if script is not None and call.sees(script.customer_account) else None


async def _job(call: Call, identifier: str) -> str | None:
    job = await call.services.replay_store.get(call.number, identifier)
    return word(job.status) if job is not None and call.sees(job.selection.account) else None


async def _schema(call: Call, identifier: str) -> str | None:
    schema = await call.services.schema_store.get(call.number, identifier)
    return None if schema is None else f"{schema.event_type} {schema.version}"


async def _file(call: Call, identifier: str) -> str | None:
    file = await call.services.files.library.get(call.number, identifier)
    return file.file_name if file is not None and call.sees_customer(file.customer) else None


_BY_ID: dict[FoundKind, Find] = {
    FoundKind.EVENT: _event,
    FoundKind.DELIVERY: _delivery,
    FoundKind.DESTINATION: _destination,
    FoundKind.ROUTING_RULE: _rule,
    FoundKind.TRANSFORM_SCRIPT: _script,
    FoundKind.REPLAY_JOB: _job,
    FoundKind.SCHEMA: _schema,
    FoundKind.FILE: _file,
}

ROUTES = (
    Route(
        method="GET",
        path="/lookup",
        name="lookup",
        client=Method("observability.lookup"),
        summary="Find by id, key or name",
        description="Finds the objects with the id `q`; events with the idempotency key or the "
        "correlationId `q`; destinations with `q` in their name; customers whose "
        "customerExternalId begins with `q`; and event types that begin with `q`, among the 2,000 "
        "latest events. The first 8 or more characters of an id find destinations, events and "
        "deliveries. They tell the time of creation: the server compares the 200 latest events "
        "and deliveries of that time. The list is empty if nothing is found.",
        tag="Observability",
        scopes=READ,
        embed=Embed.OWN,
        handler=lookup,
        query=LookupQuery,
    ),
)
