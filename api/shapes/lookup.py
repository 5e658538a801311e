"""Shapes of what a look-up finds."""

from enum import Enum
from typing import Annotated

from typing_extensions import TypedDict

from engine.drafts import told
from engine.model.words import Word


class FoundKind(Enum):
    """The kind of something found."""

    EVENT = "events/{id}"
    DELIVERY = "deliveries/{id}"
    DESTINATION = "destinations/{id}"
    ROUTING_RULE = "routing-rules/{id}"
    TRANSFORM_SCRIPT = "transform-scripts/{id}"
    REPLAY_JOB = "replay-jobs/{id}"
    SCHEMA = "schemas/{id}"
    FILE = "files/{id}"
    CUSTOMER = "customers/{id}"
    EVENT_TYPE = "events?eventType={id}"


class Found(TypedDict):
    """Something that was found."""

    kind: Word[FoundKind]
    id: Annotated[str, told("CUSTOMER: the customerExternalId. EVENT_TYPE: the type itself.")]
    label: Annotated[str, told("A name for people: of an event or delivery, the event's type.")]


class Findings(TypedDict):
    """Everything that was found."""

    items: Annotated[list[Found], told("At most 20 customers and 20 event types.")]
