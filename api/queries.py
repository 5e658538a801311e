"""The strict reader of query strings into models."""

import re
from collections.abc import Iterable
from enum import Enum
from typing import Annotated, Any, ClassVar, TypeVar

from pydantic import BeforeValidator, Field, ValidationError

from api.escapes import unescaped
from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    Priority,
)
from engine.drafts import Document, Uuid
from engine.model.documents import invalid, refusal_of
from engine.model.errors import Refusal
from engine.model.instants import Instant
from engine.model.words import Word

MAX_PARAMETERS = 64  # more than any route has; more are refused before they are read
PAGE = 20
PAGE_MOST = 100
LIST_MOST = 1_000
EXAMINE_MOST = 20_000  # rows: some 50 ms
MOST_VALUES = 20  # of one filter: each costs a search in an index
Text = Annotated[str, Field(min_length=1, max_length=256)]
Given = TypeVar("Given")
# A filter that passes an item with any of the values.
AnyOf = Annotated[list[Given], Field(min_length=1, max_length=MOST_VALUES)]


def _integer(value: object) -> object:
    if isinstance(value, str) and re.fullmatch(r"\d{1,9}", value, re.ASCII):
        return int(value)
    raise ValueError("must be a whole number")


def _flag(value: object) -> object:
    if value == "":
        return None
    if value in ("true", "false"):
        return value == "true"
    raise ValueError("must be true or false")


def _required_flag(value: object) -> object:
    if value in ("true", "false"):
        return value == "true"
    raise ValueError("must be true or false")


HttpStatus = Annotated[int, Field(ge=100, le=599), BeforeValidator(_integer)]
Flag = Annotated[bool, BeforeValidator(_required_flag)]
FlagOrEmpty = Annotated[bool | None, BeforeValidator(_flag)]
Cursor = Annotated[str, Field(description="The `nextCursor` of the previous page.")]
# `Field` with the bounds must stand before the validator. Otherwise pydantic does not write the bounds
# into the JSON Schema.
PageLimit = Annotated[
    int,
    Field(ge=1, le=PAGE_MOST, description="The most items of the page."),
    BeforeValidator(_integer),
]
ListLimit = Annotated[
    int,
    Field(ge=1, le=LIST_MOST, description="The most items of the page."),
    BeforeValidator(_integer),
]


class Query(Document):
    """A query without parameters, and the base of all queries. `repeatable`: the names of the parameters
    that can be repeated."""

    repeatable: ClassVar[frozenset[str]] = frozenset()

    @classmethod
    def __pydantic_init_subclass__(cls, **kwargs: Any) -> None:
        """The schema takes 1 ms, too long for a request."""
        super().__pydantic_init_subclass__(**kwargs)
        cls.repeatable = frozenset(
            name
            for name, schema in cls.model_json_schema()["properties"].items()
            if any(each.get("type") == "array" for each in (schema, *schema.get("anyOf", ())))
        )


class PageQuery(Query):
    """A page of a long list."""

    cursor: Cursor | None = None
    limit: PageLimit = PAGE


class ListQuery(Query):
    """A page of a list that mostly fits into one page."""

    cursor: Cursor | None = None
    limit: ListLimit = LIST_MOST


class DestinationQuery(ListQuery):
    """Filters of destinations."""

    environment: Word[Environment] | None = None
    status: AnyOf[Word[DestinationStatus]] | None = Field(
        None, description="Destinations with this status. By default ACTIVE and DISABLED ones."
    )
    customer_account_id: Uuid | None = Field(None, description="Destinations of this account.")

    @property
    def statuses(self) -> tuple[DestinationStatus, ...]:
        if self.status is None:
            return (DestinationStatus.ACTIVE, DestinationStatus.DISABLED)
        return tuple(DestinationStatus[name] for name in self.status)


class RuleQuery(ListQuery):
    """Filters of routing rules."""

    destination_id: AnyOf[Uuid] | None = Field(None, description="Rules of this destination.")
    enabled: Flag | None = Field(None, description="Only enabled rules, or only disabled ones.")


class LogQuery(PageQuery):
    """A page of the delivery log."""

    examine: Annotated[int, Field(ge=1, le=EXAMINE_MOST), BeforeValidator(_integer)] | None = Field(
        None,
        description="The most rows that the server compares with the filters one by one, by default "
        "2,000. If these do not fill the page, an index search in all older rows follows, for at most "
        "100 ms.",
    )


class DeliveryQuery(LogQuery):
    """Filters of deliveries."""

    event_id: AnyOf[Uuid] | None = Field(None, description="Deliveries of this event.")
    destination_id: AnyOf[Uuid] | None = Field(None, description="Deliveries to this destination.")
    environment: Word[Environment] | None = None
    status: AnyOf[Word[DeliveryStatus]] | None = None
    from_: Instant | None = Field(None, alias="from", description="Created at or after.")
    to: Instant | None = Field(None, description="Created before.")
    is_replay: FlagOrEmpty = Field(
        None, description="Only replays, or no replays. Empty: no filter."
    )
    error_category: AnyOf[Word[ErrorCategory]] | None = Field(
        None, description="Deliveries whose last attempt had this error."
    )
    priority: AnyOf[Word[Priority]] | None = None
    dlq_status: AnyOf[Word[DlqStatus]] | None = None
    kind: AnyOf[Word[DeliveryKind]] | None = None
    origin_kind: AnyOf[Word[DeliveryOrigin]] | None = None
    event_type: AnyOf[Text] | None = Field(None, description="Deliveries of this event type.")
    customer_external_id: AnyOf[Text] | None = Field(
        None, description="Deliveries to the destinations of this customer."
    )
    response_status: AnyOf[HttpStatus] | None = Field(
        None, description="Deliveries whose last answer had this status."
    )
    replay_job_id: AnyOf[Uuid] | None = Field(
        None, description="Deliveries that this replay job enqueued."
    )


class EventQuery(LogQuery):
    """Filters of events."""

    environment: Word[Environment] | None = None
    event_type: AnyOf[Text] | None = Field(None, description="Events of this type.")
    customer_external_id: AnyOf[Text] | None = Field(None, description="Events of this customer.")
    correlation_id: AnyOf[Text] | None = Field(None, description="Events with this correlationId.")
    request_id: AnyOf[Text] | None = Field(None, description="Events with this requestId.")
    idempotency_key: AnyOf[Text] | None = Field(
        None,
        description="Events with this key. The search is fast for a day, while the key is kept.",
    )
    undelivered: Flag | None = Field(
        None, description="Only events that no rule matched, or only events that a rule matched."
    )
    from_: Instant | None = Field(None, alias="from", description="Received at or after.")
    to: Instant | None = Field(None, description="Received before.")


AnyQuery = TypeVar("AnyQuery", bound=Query)
Kind = TypeVar("Kind", bound=Enum)


def parameters(raw: bytes) -> list[tuple[str, str]]:
    """Return a query's parameters. Raises Refusal 400 if it is not UTF-8, or has too many parameters."""
    if not raw:
        return []
    found = []
    for pair in pairs_of(raw):
        if pair:
            name, _, value = pair.partition(b"=")
            found.append((_text(name), _text(value)))
    return found


def pairs_of(raw: bytes) -> list[bytes]:
    """Return a query's undecoded parameters. Raises Refusal 400 if there are too many."""
    pairs = raw.split(b"&", MAX_PARAMETERS)
    if len(pairs) > MAX_PARAMETERS:
        raise Refusal("invalid_request", "too many query parameters")
    return pairs


def read_query(model: type[AnyQuery], given: list[tuple[str, str]]) -> AnyQuery:
    """Return the parameters as `model`. Raises Refusal 400 that names each wrong parameter."""
    document: dict[str, Any] = {}
    for name, value in given:
        if "\0" in value:
            raise invalid(name, "must not contain NUL")
        if name in model.repeatable:
            document.setdefault(name, []).append(value)
        elif name in document:
            raise invalid(name, "is given twice")
        else:
            document[name] = value
    try:
        query = model.model_validate(document)
    except ValidationError as error:
        raise refusal_of(error, document, unknown="unknown query parameter", depth=1) from None
    start, end = getattr(query, "from_", None), getattr(query, "to", None)
    if start is not None and end is not None and start > end:
        raise invalid("from", "is after to")
    return query


def any_of(kind: type[Kind], names: Iterable[str] | None) -> tuple[Kind, ...] | None:
    """Return the members of `kind` that a repeated parameter names, None for no filter."""
    return None if names is None else tuple(kind[name] for name in names)


def all_of(values: Iterable[Given] | None) -> tuple[Given, ...] | None:
    """Return the values of a repeated parameter, None for no filter."""
    return None if values is None else tuple(values)


def _text(part: bytes) -> str:
    try:
        return unescaped(part.replace(b"+", b" ")).decode()
    except UnicodeDecodeError:
        raise Refusal("invalid_request", "the query string is not UTF-8") from None
