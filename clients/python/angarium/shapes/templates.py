# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.templates`."""

from typing import Any, Literal, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.shared import ErrorDetail


class PreviewDraft(TypedDict, total=False):
    """A configuration, or a change of a destination's, and an event: at most one of `event` and
    `eventId`, the template's own example without either.
    """

    # Secrets may be masked or left out.
    config: JsonObject
    # Of this template: `config` is a merge patch of its configuration.
    destinationId: str | None
    # An event as for `POST /events`; or, without `eventType`, a body as it is sent out, such as a
    # transform script returns: `type`, `data` and the rest.
    event: JsonObject | None
    # An event that was sent.
    eventId: str | None


class SketchedRequest(TypedDict):
    """A request as it would be sent, with masks for secrets. Headers that differ from attempt to
    attempt, such as the signature, are left out.
    """

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplateExample(TypedDict):
    """An event as it is sent out, a configuration, and what the service is sent for them."""

    event: JsonObject
    config: JsonObject
    # JSON; a string where the service takes another format.
    body: Any


class DestinationTemplate(TypedDict):
    """What destinations of one service can be made from."""

    # The `templateId` of destinations.
    id: str
    name: str
    description: str
    # What to list it under, such as `chat`.
    category: str
    # Names a picture that the reader has.
    icon: str
    # Of the service's own documentation.
    documentationUrls: list[str]
    # JSON Schema 2020-12 of `config`, its fields in the order to be asked for. `title` and
    # `description` are for people; fields with `secret` are shown as *** once they are written.
    configSchema: JsonObject
    # What stands in a destination's `delivery` where it says nothing.
    defaults: JsonObject
    example: TemplateExample


class TemplatePreview(TypedDict):
    """What a template would send."""

    # Null where something stands against it.
    request: SketchedRequest | None
    # What is wrong with `config` or the event.
    errors: list[ErrorDetail]
