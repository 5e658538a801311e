"""The look-up of an object by an id, an idempotency key, or the beginning of a name."""

from collections.abc import Awaitable, Callable
from typing import Annotated

from pydantic import Field

from api.call import Call
from api.queries import Query
from api.routes import READ, Embed, Method, Route
from api.shapes.observability import Findings, Found, FoundKind
from engine.core.vocabulary import Environment
from engine.model.documents import is_uuid
from engine.model.words import Word, word

MOST = 20  # customers, and event types
Find = Callable[[Call, str], Awaitable[str | None]]


class LookupQuery(Query):
    """What is looked for."""

    q: Annotated[str, Field(min_length=1, max_length=256)] = Field(
        description="An id, an idempotency key, or the beginning of a customerExternalId or event type.",
        examples=["order."],
    )
    environment: Word[Environment] | None = None


async def lookup(call: Call) -> Findings:
    """Find by id, by key, and by the beginning of a name."""
    text = call.query_as(LookupQuery).q
    found: list[Found] = []
    if is_uuid(text):
        for kind, find in _BY_ID.items():
            label = await find(call, text.lower())
            if label is not None:
                found.append(_found(kind, text.lower(), label))
    event = await call.services.event_finder.event_of_key(call.number, text)
    label = None if event is None else await _event(call, event)
    if event is not None and label is not None:
        found.append(_found(FoundKind.EVENT, event, label))
    if call.customer is None:
        for account in await call.services.customer_store.page(call.number, text, None, MOST):
            name = account.external_id
            found.append(_found(FoundKind.CUSTOMER, name, account.name or name))
    own = None if call.customer is None else call.customer.external_id
    types = await call.services.event_finder.recent_types(call.number, text, own, MOST)
    found += [_found(FoundKind.EVENT_TYPE, each, each) for each in types]
    return {"items": found}


def _found(kind: FoundKind, identifier: str, label: str) -> Found:
    return {"kind": word(kind), "id": identifier, "label": label}


# --- the label of something by its id, None where it does not exist for the caller


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
        description="Finds what has the id `q`, the event that holds the idempotency key `q`, customers "
        "whose customerExternalId begins with `q`, and event types that begin with it among the 2,000 "
        "latest events. Nothing found is an empty list.",
        tag="Observability",
        scopes=READ,
        embed=Embed.OWN,
        handler=lookup,
        query=LookupQuery,
    ),
)
