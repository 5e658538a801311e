"""Where a list of deliveries is read: which index serves its filters, and what is left to the rows."""

from functools import lru_cache
from typing import Any

from msgspec import Struct

from engine.core.vocabulary import (
    DeliveryOrigin,
    DeliveryStatus,
    DeliveryTrouble,
    DlqStatus,
    Priority,
)
from engine.log.delivery_log import DeliveryFilter
from engine.model.identity import MAX_FANOUT, delivery_id
from storage.database.plan_refresh import KNOWN
from storage.log.entries import ENTRY_COLUMNS
from storage.log.walk import step_statement, stream

MOST_STREAMS = (
    64  # past so many the environment's own order is walked, and the rest left to the rows
)
_EVERY_TROUBLE = frozenset(DeliveryTrouble)
# Which values of `trouble` rows can have that pass a filter; what is not named here can have none.
_OF_STATUS = {
    DeliveryStatus.FAILED: frozenset({DeliveryTrouble.FAILED, DeliveryTrouble.DEAD}),
    DeliveryStatus.RETRYING: frozenset({DeliveryTrouble.RETRYING}),
}
_OF_DLQ = {
    DlqStatus.IN_DLQ: frozenset({DeliveryTrouble.DEAD}),
    DlqStatus.DISCARDED: frozenset({DeliveryTrouble.FAILED}),
    DlqStatus.RETRIED_FROM_DLQ: frozenset({DeliveryTrouble.RETRYING, DeliveryTrouble.REQUEUED}),
}
# What is RETRYING at a destination that is DISABLED is held as PENDING.
_HELD = {DeliveryStatus.PENDING: "held as PENDING", DeliveryStatus.RETRYING: "held as RETRYING"}
_CONDITIONS = {
    "destination": "destination = ANY({value}::uuid[])",
    "held as PENDING": "(status = 0 OR (status = 4 AND destination = ANY({value}::uuid[])))",
    "held as RETRYING": "(status = 4 AND destination <> ALL({value}::uuid[]))",
}
_TYPES = {
    "event": "uuid",
    "status": "smallint",
    "error_category": "smallint",
    "priority": "smallint",
    "dlq_status": "smallint",
    "kind": "smallint",
    "origin": "smallint",
    "event_type": "text",
    "customer": "text",
    "replay_job": "uuid",
    "response_status": "smallint",
}


class Selection(Struct, frozen=True):
    """How the rows of a filter are found."""

    sql: str
    arguments: tuple[Any, ...]  # from the sixth on
    streams: int
    filtered: bool


def select(which: DeliveryFilter) -> Selection | None:
    """Return how to find what a filter asks for, None where nothing can pass it."""
    if which.destinations == () or which.ids == ():
        return None
    replay = None if which.origin is None else which.origin is DeliveryOrigin.REPLAY
    if None not in (which.is_replay, replay) and which.is_replay != replay:
        return None
    troubles = _troubles(which)
    if troubles is not None and not troubles:
        return None
    if which.event is not None:
        return _of_event(which, which.event)
    wanted = sorted(troubles) if troubles else []
    destinations = sorted(set(which.destinations or ()))
    if len(destinations) * max(1, len(wanted)) <= MOST_STREAMS and destinations:
        index = "destination_trouble" if wanted else "destination"
        arguments = (destinations, wanted) if wanted else (destinations,)
        streams = len(destinations) * max(1, len(wanted))
        return _selection(which, index, arguments, streams, {"destination"})
    if wanted:
        return _selection(which, "trouble", (wanted,), len(wanted), set())
    origin = DeliveryOrigin.REPLAY if which.is_replay else which.origin
    if origin not in (None, DeliveryOrigin.NORMAL):
        return _selection(which, "origin", (origin,), 1, set())
    if which.replay_job is not None:  # a replay, whatever else is asked
        return _selection(which, "origin", (DeliveryOrigin.REPLAY,), 1, set())
    if which.priority not in (None, Priority.STANDARD):
        return _selection(which, "priority", (which.priority,), 1, {"priority"})
    return _selection(which, "environment", (), 1, set())


def select_among(which: DeliveryFilter, ids: list[str]) -> Selection:
    """Return how to find those of `ids` that pass: looked up one by one, all in one stream."""
    return _selection(which, "ids", (ids,), 1, set())


def _troubles(which: DeliveryFilter) -> frozenset[DeliveryTrouble] | None:
    """Return which values of `trouble` can pass, None where rows without any can."""
    sets = []
    if which.status in _OF_STATUS:
        sets.append(_OF_STATUS[which.status])
    if which.dlq_status is not None:
        sets.append(_OF_DLQ[which.dlq_status])
    if which.error_category is not None:
        sets.append(_EVERY_TROUBLE)
    if not sets:
        return None
    return frozenset.intersection(*sets)


def _of_event(which: DeliveryFilter, event: str) -> Selection:
    first, last = delivery_id(event, 0), delivery_id(event, MAX_FANOUT)
    return _selection(which, "event", (event, first, last), 2, {"event"})


def _selection(
    which: DeliveryFilter,
    index: str,
    arguments: tuple[Any, ...],
    streams: int,
    served: set[str],
) -> Selection:
    conditions = {
        "event": which.event,
        "destination": None if which.destinations is None else list(which.destinations),
        "status": which.status,
        "error_category": which.error_category,
        "priority": which.priority,
        "dlq_status": which.dlq_status,
        "kind": which.kind,
        "origin": which.origin,
        "event_type": which.event_type,
        "customer": which.customer,
        "replay_job": which.replay_job,
        "response_status": which.response_status,
    }
    held = _HELD.get(which.status) if which.status is not None and which.held else None
    if held is not None:
        conditions["status"] = None
        conditions[held] = list(which.held)
    left = {
        name: value
        for name, value in conditions.items()
        if value is not None and name not in served
    }
    sql = _statement(index, tuple(left), which.is_replay)
    filtered = bool(left) or which.is_replay is not None
    return Selection(sql, (*arguments, *left.values()), streams, filtered)


# What the partial indexes say.
_TROUBLED = " AND d.trouble IS NOT NULL"
_OTHERS = f" AND d.origin <> {int(DeliveryOrigin.NORMAL)}"
_URGENT = f" AND d.priority > {int(Priority.STANDARD)}"
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
    "origin": (1, [stream("deliveries", led={"origin": "$6::smallint"}, only=_OTHERS)]),
    "priority": (1, [stream("deliveries", led={"priority": "$6::smallint"}, only=_URGENT)]),
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
    # The deliveries that an event had from the first are a range of the primary key.
    "event": (
        3,
        [
            stream(
                "deliveries",
                key="'range'",
                only=" AND d.event = $6::uuid AND d.id >= $7::uuid AND d.id <= $8::uuid",
            ),
            stream(
                "deliveries",
                key="'others'",
                only=" AND d.event = $6 AND d.origin <> 1 AND NOT (d.id >= $7 AND d.id <= $8)",
            ),
        ],
    ),
}


@lru_cache(KNOWN)
def _statement(index: str, left: tuple[str, ...], is_replay: bool | None) -> str:
    arguments, streams = _INDEXES[index]
    matches = ""
    for place, name in enumerate(left, 6 + arguments):
        condition = _CONDITIONS.get(name) or f"{name} = {{value}}::{_TYPES[name]}"
        matches += " AND " + condition.format(value=f"${place}")
    if is_replay is not None:
        matches += f" AND origin {'=' if is_replay else '<>'} {int(DeliveryOrigin.REPLAY)}"
    return step_statement(streams, ENTRY_COLUMNS, matches)
