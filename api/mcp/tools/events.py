"""The tools for events."""

from typing import Any

from pydantic import Field

from angarium import AsyncClient
from api.mcp.tool import Document, Tool, ToolArguments

ATTEMPTS = 5  # the newest of a delivery
DELIVERIES = 10  # of one event; an explanation takes two API calls
ENDED = frozenset({"DELIVERED", "DRY_RUN"})


class WhyNotDelivered(ToolArguments):
    """The event, or one of its deliveries."""

    event_id: str | None = Field(None, description="The event's id.")
    delivery_id: str | None = Field(
        None, description="The id of one delivery, instead of event_id."
    )


class GetEvent(ToolArguments):
    """The event."""

    event_id: str = Field(description="The event's id.")


class PreviewRules(ToolArguments):
    """An example event."""

    event_type: str = Field(description="The type, such as order.created.")
    payload: dict[str, Any] = Field(description="The payload, a JSON object.")
    customer_external_id: str | None = Field(None, description="The customer of the event.")


class RunTransform(ToolArguments):
    """A version of a script, and its input."""

    script_id: str = Field(description="The id of a version of a transform script.")
    event_id: str | None = Field(None, description="The event whose outbound body is the input.")
    body: dict[str, Any] | None = Field(None, description="An outbound body, instead of event_id.")


async def why_not_delivered(client: AsyncClient, given: WhyNotDelivered) -> Document:
    """Explain an event rule by rule, and each of its deliveries that has not arrived."""
    if given.delivery_id is not None:
        return {"deliveries": [await _explained(client, given.delivery_id)]}
    if given.event_id is None:
        raise ValueError("give event_id or delivery_id; `lookup` finds ids")
    explained = await client.events.explain(given.event_id)
    late = [each for each in explained["recorded"] if each["status"] not in ENDED]
    return {
        "event": explained,
        "deliveries": [await _explained(client, each["deliveryId"]) for each in late[:DELIVERIES]],
        "notExplained": max(0, len(late) - DELIVERIES),
    }


async def _explained(client: AsyncClient, delivery_id: str) -> Document:
    explanation = await client.deliveries.explain(delivery_id)
    delivery = await client.deliveries.get(delivery_id)
    return {
        **explanation,
        "destinationId": delivery["destinationId"],
        "attemptCount": delivery["attemptCount"],
        "nextAttemptAt": delivery["nextAttemptAt"],
        "dlqStatus": delivery["dlqStatus"],
        "errorCategory": delivery["errorCategory"],
        "attempts": delivery["attempts"][-ATTEMPTS:],
    }


async def get_event(client: AsyncClient, given: GetEvent) -> Document:
    """Show an event with its payload and deliveries."""
    event = await client.events.get(given.event_id)
    return {**event}


async def preview_rules(client: AsyncClient, given: PreviewRules) -> Document:
    """Show which destinations an example event would reach."""
    event = {"eventType": given.event_type, "payload": given.payload}
    if given.customer_external_id is not None:
        event["customerExternalId"] = given.customer_external_id
    return {**await client.routing_rules.preview(event)}


async def run_transform(client: AsyncClient, given: RunTransform) -> Document:
    """Run a script over an event or a body."""
    return {
        **await client.transform_scripts.run(given.script_id, given.body, event_id=given.event_id)
    }


TOOLS = (
    Tool(
        "why_not_delivered",
        "Explain why an event was not delivered",
        "Explain an event rule by rule (pattern, switch, customer, filter with the values that it "
        "read), and each of its deliveries that has not arrived: why it waits, until when, and its "
        "last attempts. Give delivery_id to explain one delivery.",
        WhyNotDelivered,
        why_not_delivered,
    ),
    Tool("get_event", "Show an event", "Show an event and its payload.", GetEvent, get_event),
    Tool(
        "preview_rules",
        "Preview routing rules",
        "Show which destinations an example event would reach, and why, rule by rule. Nothing is "
        "sent.",
        PreviewRules,
        preview_rules,
    ),
    Tool(
        "run_transform",
        "Run a transform script",
        "Run a version of a transform script over an event or a body, and show its result. "
        "Nothing is sent or recorded.",
        RunTransform,
        run_transform,
        manage=True,
    ),
)
