"""The plan that finds the deliveries of a filter: the index to use, and conditions for the rest of the
filter."""

from collections.abc import Set
from functools import lru_cache
from typing import Any

from msgspec import Struct

from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    DeliveryTrouble,
    DlqStatus,
)
from engine.log.delivery_log import DeliveryFilter
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.database.plan_refresh import KNOWN
from storage.log.entries import ENTRY_COLUMNS
from storage.log.searching import search_statement
from storage.log.walk import step_statement, stream

# The most streams (see `storage.log.walk`) of one plan. If a filter names so many destinations that the
# plan would need more streams, the plan compares the destination of each row with the filter instead.
MOST_STREAMS = 64
_EVERY_TROUBLE = frozenset(DeliveryTrouble)
_EVERY_ORIGIN = frozenset(DeliveryOrigin)
# The values that the column `trouble` can have, for each status with which it is never null. With any
# other status, `trouble` can be null.
_OF_STATUS = {
    DeliveryStatus.FAILED: frozenset({DeliveryTrouble.FAILED, DeliveryTrouble.DEAD}),
    DeliveryStatus.RETRYING: frozenset({DeliveryTrouble.RETRYING}),
}
_OF_DLQ = {
    DlqStatus.IN_DLQ: frozenset({DeliveryTrouble.DEAD}),
    DlqStatus.DISCARDED: frozenset({DeliveryTrouble.FAILED}),
    DlqStatus.RETRIED_FROM_DLQ: frozenset({DeliveryTrouble.RETRYING, DeliveryTrouble.REQUEUED}),
}
_UNSETTLED = frozenset({DeliveryStatus.PENDING, DeliveryStatus.RETRYING})
# A RETRYING delivery (4) of a DISABLED destination is held, and is listed as PENDING.
_HELD_AS_PENDING = """(status = ANY({value}::smallint[])
    OR (status = 4 AND destination = ANY({held}::uuid[])))"""
_NOT_HELD = """(status = ANY({value}::smallint[])
    AND NOT (status = 4 AND destination = ANY({held}::uuid[])))"""
_COLUMNS = {
    "destinations": ("destination", "uuid"),
    "events": ("event", "uuid"),
    "statuses": ("status", "smallint"),
    "error_categories": ("error_category", "smallint"),
    "priorities": ("priority", "smallint"),
    "dlq_statuses": ("dlq_status", "smallint"),
    "kinds": ("kind", "smallint"),
    "origins": ("origin", "smallint"),
    "event_types": ("event_type", "text"),
    "customers": ("customer", "text"),
    "replay_jobs": ("replay_job", "uuid"),
    "response_statuses": ("response_status", "smallint"),
}


class Selection(Struct, frozen=True):
    """The plan to find the rows of a filter: first steps along an index, then a search."""

    sql: str
    arguments: tuple[Any, ...]  # from the sixth on
    streams: int
    filtered: bool
    scattered: bool  # whether each row is probably in another page
    search: str  # the statement of a search
    searched: tuple[Any, ...]  # its arguments, from the fifth on


def select(which: DeliveryFilter) -> Selection | None:
    """Return the plan for a filter, None if no row can match."""
    if any(getattr(which, name) == () for name in (*_COLUMNS, "ids")):
        return None
    origins = _origins(which)
    troubles = _troubles(which)
    if not origins or (troubles is not None and not troubles):
        return None
    if which.events is not None:
        return _of_events(which, which.events)
    wanted = sorted(troubles) if troubles else []
    destinations = sorted(set(which.destinations or ()))
    if len(destinations) * max(1, len(wanted)) <= MOST_STREAMS and destinations:
        index = "destination_trouble" if wanted else "destination"
        arguments = (destinations, wanted) if wanted else (destinations,)
        streams = len(destinations) * max(1, len(wanted))
        return _selection(which, index, arguments, streams, {"destinations"})
    if wanted:
        return _selection(which, "trouble", (wanted,), len(wanted), set())
    return _selection(which, "environment", (), 1, set())


def select_among(which: DeliveryFilter, ids: list[str]) -> Selection:
    """Return the plan that looks up the deliveries `ids` and returns those that match the filter."""
    return _selection(which, "ids", (ids,), 1, set())


def _origins(which: DeliveryFilter) -> Set[DeliveryOrigin]:
    given = _EVERY_ORIGIN if which.origins is None else frozenset(which.origins)
    replay = frozenset({DeliveryOrigin.REPLAY})
    if which.is_replay or which.replay_jobs is not None:
        given &= replay
    return given - replay if which.is_replay is False else given


def _troubles(which: DeliveryFilter) -> frozenset[DeliveryTrouble] | None:
    """Return the values that the column `trouble` can have in matching rows. Return None if `trouble` can
    also be null in a matching row."""
    sets = []
    if which.statuses is not None and all(each in _OF_STATUS for each in which.statuses):
        sets.append(
            frozenset[DeliveryTrouble]().union(*(_OF_STATUS[each] for each in which.statuses))
        )
    if which.dlq_statuses is not None:
        sets.append(
            frozenset[DeliveryTrouble]().union(*(_OF_DLQ[each] for each in which.dlq_statuses))
        )
    if which.error_categories is not None:
        sets.append(_EVERY_TROUBLE)
    if not sets:
        return None
    return frozenset.intersection(*sets)


def _of_events(which: DeliveryFilter, events: tuple[str, ...]) -> Selection:
    named = sorted(set(events))
    first = [delivery_id(event, 0) for event in named]
    last = [delivery_id(event, MAX_FANOUT) for event in named]
    return _selection(which, "event", (named, first, last), 2 * len(named), {"events"})


def _selection(
    which: DeliveryFilter,
    index: str,
    arguments: tuple[Any, ...],
    streams: int,
    served: set[str],
) -> Selection:
    given: dict[str, Any] = {
        name: list(value)
        for name in _COLUMNS
        if name != "origins" and (value := getattr(which, name)) is not None
    }
    origins = _origins(which)
    if origins != _EVERY_ORIGIN:
        given["origins"] = sorted(origins)
    held = _held(which)
    if held:
        given[held] = list(which.held)
    left = {name: value for name, value in given.items() if name not in served}
    values = (*arguments, *left.values())
    return Selection(
        _statement(index, tuple(left)),
        values,
        streams,
        bool(left),
        index != "environment",
        _search(tuple(given)),
        tuple(given.values()),
    )


def _held(which: DeliveryFilter) -> str:
    """Return the kind of condition that a filter's statuses need. The destinations `which.held` are
    DISABLED. Their RETRYING deliveries are called held, and are listed as PENDING.

    - "held as PENDING": the filter wants PENDING but not RETRYING. The condition also selects the held
      deliveries.
    - "not held": the filter wants RETRYING but not PENDING. The condition leaves out the held deliveries.
    - "": in all other cases, the condition only compares the status.
    """
    wanted = frozenset(which.statuses or ()) & _UNSETTLED
    if not which.held or len(wanted) != 1:
        return ""
    return "held as PENDING" if DeliveryStatus.PENDING in wanted else "not held"


# The condition of the partial indexes.
_TROUBLED = " AND d.trouble IS NOT NULL"
_INDEXES = {
    "environment": (0, [stream("deliveries")]),
    "destination": (
        1,
        [
            stream(
                "deliveries",
                source="unnest($6::uuid[]) s (destination)",
                key="s.destination::text",
                led={"destination": "s.destination"},
            )
        ],
    ),
    "trouble": (
        1,
        [
            stream(
                "deliveries",
                source="unnest($6::smallint[]) s (trouble)",
                key="s.trouble::text",
                led={"trouble": "s.trouble"},
                only=_TROUBLED,
            )
        ],
    ),
    "destination_trouble": (
        2,
        [
            stream(
                "deliveries",
                source="unnest($6::uuid[]) s (destination), unnest($7::smallint[]) t (trouble)",
                key="s.destination || ' ' || t.trouble",
                led={"destination": "s.destination", "trouble": "t.trouble"},
                only=_TROUBLED,
            )
        ],
    ),
    "ids": (
        1,
        [
            stream(
                "deliveries",
                source="unnest($6::uuid[]) s (id)",
                only=" AND d.id = s.id",
            )
        ],
    ),
    "event": (
        3,
        [
            stream(
                "deliveries",
                source="unnest($6::uuid[], $7::uuid[], $8::uuid[]) s (event, first, last)",
                key="'range ' || s.event",
                only=" AND d.event = s.event AND d.id >= s.first AND d.id <= s.last",
            ),
            stream(
                "deliveries",
                source="unnest($6::uuid[], $7::uuid[], $8::uuid[]) s (event, first, last)",
                key="'others ' || s.event",
                only=" AND d.event = s.event AND d.origin <> 1"
                " AND NOT (d.id >= s.first AND d.id <= s.last)",
            ),
        ],
    ),
}


def _matches(names: tuple[str, ...], first: int) -> str:
    """Return SQL with one condition for each name. The first condition uses the parameter number `first`,
    and each further condition uses the next parameter."""
    places = {name: f"${place}" for place, name in enumerate(names, first)}
    texts = []
    for name in names:
        if name not in _COLUMNS:  # a comparison of the status, see `_held`
            continue
        column, sql_type = _COLUMNS[name]
        condition = f"{column} = ANY({places[name]}::{sql_type}[])"
        if name == "statuses":
            for held, text in (("held as PENDING", _HELD_AS_PENDING), ("not held", _NOT_HELD)):
                if held in places:
                    condition = text.format(value=places[name], held=places[held])
        texts.append(f" AND {condition}")
    return "".join(texts)


@lru_cache(KNOWN)
def _statement(index: str, left: tuple[str, ...]) -> str:
    arguments, streams = _INDEXES[index]
    return step_statement(streams, ENTRY_COLUMNS, _matches(left, 6 + arguments))


@lru_cache(KNOWN)
def _search(given: tuple[str, ...]) -> str:
    return search_statement("deliveries", ENTRY_COLUMNS, _matches(given, 5))
