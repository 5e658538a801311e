"""The enumerations that many fields share."""

from typing import Any, get_args

from engine.core.vocabulary import (
    DeliveryKind,
    DeliveryOrigin,
    DeliveryStatus,
    DestinationStatus,
    DlqStatus,
    Environment,
    ErrorCategory,
    HttpMethod,
    Ordering,
    Priority,
    ReplayStatus,
    Scope,
    SigningAlgorithm,
)
from engine.model.errors import STATUS_OF_CODE
from engine.model.words import GranularityName, KeyKindName, PeriodName
from engine.schemas.records import SchemaStatus

REFERENCE = "#/components/schemas/{name}"
_LISTS: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Environment", "One of a workspace's three environments.", tuple(Environment.__members__)),
    ("Scope", "The permission of a key.", tuple(name.lower() for name in Scope.__members__)),
    (
        "KeyKind",
        "API_KEY: a key of one environment. MCP_KEY: a key of the whole workspace.",
        get_args(KeyKindName),
    ),
    (
        "DestinationStatus",
        "The state of a destination.",
        tuple(DestinationStatus.__members__),
    ),
    (
        "Ordering",
        "The scope of first-in first-out order: none, a key of the event, or the destination.",
        tuple(Ordering.__members__),
    ),
    ("HttpMethod", "The HTTP method of requests.", tuple(HttpMethod.__members__)),
    ("SigningAlgorithm", "The algorithm of the signature.", tuple(SigningAlgorithm.__members__)),
    ("Priority", "The urgency of a delivery.", tuple(Priority.__members__)),
    ("DeliveryStatus", "The state of a delivery.", tuple(DeliveryStatus.__members__)),
    ("DeliveryKind", "The kind of content in a delivery.", tuple(DeliveryKind.__members__)),
    ("OriginKind", "The origin of a delivery.", tuple(DeliveryOrigin.__members__)),
    ("DlqStatus", "The state of a dead delivery.", tuple(DlqStatus.__members__)),
    ("ErrorCategory", "The kind of error of an attempt.", tuple(ErrorCategory.__members__)),
    ("SchemaStatus", "The state of a version.", tuple(SchemaStatus.__members__)),
    ("ReplayStatus", "The state of a job.", tuple(ReplayStatus.__members__)),
    ("AnalyticsPeriod", "The period, which ends now.", get_args(PeriodName)),
    ("AnalyticsGranularity", "The time that each point covers.", get_args(GranularityName)),
    ("ErrorCode", "The kind of refusal.", tuple(STATUS_OF_CODE)),
)
_NAMES = {frozenset(words): name for name, _, words in _LISTS}


def shared() -> dict[str, Any]:
    """Return the shared enumerations as schemas."""
    return {
        name: {"type": "string", "enum": list(words), "description": text}
        for name, text, words in _LISTS
    }


def sharing(node: Any) -> Any:
    """Return the part `node` of the document, with a reference in place of each enumeration that has a
    shared schema."""
    if isinstance(node, list):
        return [sharing(inner) for inner in node]
    if not isinstance(node, dict):
        return node
    words = node.get("enum")
    if isinstance(words, list) and all(isinstance(word, str) for word in words):
        name = _NAMES.get(frozenset(words))
        if name is not None:
            rest = {key: value for key, value in node.items() if key not in ("enum", "type")}
            return {"$ref": REFERENCE.format(name=name), **rest}
    return {
        key: value if key in ("example", "examples") else sharing(value)
        for key, value in node.items()
    }
