"""Shapes of what waits: lanes, and the reasons why a delivery waits."""

from typing import Annotated

from pydantic import Field
from typing_extensions import TypedDict

from api.shapes import DeliveryItem
from engine.core.vocabulary import DeliveryStatus
from engine.drafts import Uuid, told
from engine.log.queues import Gate, LaneKind
from engine.model.instants import Timestamp
from engine.model.words import Word

Depth = Annotated[int, Field(ge=1)]


class Lane(TypedDict):
    """Deliveries of one destination that are sent one after another."""

    key: Annotated[
        str | None,
        told("What the events have in common; null for DESTINATION, the lane of ordering STRICT."),
    ]
    kind: Word[LaneKind]
    depth: Annotated[Depth, told("Deliveries that wait in it, the head among them.")]
    atLeast: Annotated[bool, told("There may be more in `depth` than were counted.")]
    head: Annotated[
        DeliveryItem | None,
        told("The delivery that has to end first. Null if it ended during this request."),
    ]
    until: Annotated[
        Timestamp | None,
        told("The earliest instant of the head's next attempt. Null: now, or not known."),
    ]


class DeliveryLane(TypedDict):
    """The lane of a delivery."""

    key: str | None
    kind: Word[LaneKind]


class DeliveryWait(TypedDict):
    """One reason why a delivery is not sent."""

    gate: Word[Gate]
    until: Annotated[Timestamp | None, told("Null where it is not known.")]
    detail: Annotated[str, told("A sentence for people.")]
    blockedBy: Annotated[Uuid | None, told("LANE: the delivery that has to end first.")]


class DeliveryExplanation(TypedDict):
    """Why a delivery waits."""

    deliveryId: Uuid
    status: Word[DeliveryStatus]
    waits: Annotated[
        list[DeliveryWait],
        told("Every gate that it has not passed. Empty: it is in flight, has ended or goes next."),
    ]
    lane: Annotated[DeliveryLane | None, told("Null where its destination has no lanes.")]
    position: Annotated[
        int | None,
        told(
            "How many waiting deliveries go before it in its lane, or else in its class. Null if it "
            "waits for its schedule only, does not wait, or is behind 5,000 others.",
            ge=0,
        ),
    ]
