# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.templates`."""

from typing import Any, Literal, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.shared import ErrorDetail


class PreviewDraft(TypedDict, total=False):
    """A configuration to preview, and an event. The event is `event`, or the event with the id
    `eventId`. If both are left out, the event is the template's example.
    """

    # The configuration. Secrets can be masked or left out.
    config: JsonObject
    # A destination of this template. Then `config` is a merge patch of its configuration.
    destinationId: str | None
    # An event as for `POST /events`. Without `eventType`: an outbound body, or the body that a
    # transform script returns, with `type`, `data` and the other fields.
    event: JsonObject | None
    # The id of an accepted event.
    eventId: str | None


class SketchedRequest(TypedDict):
    """The request of a preview, with masks for secrets. Headers that differ from attempt to
    attempt, such as the signature, are left out.
    """

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplateExample(TypedDict):
    """An example: an outbound event, a configuration, and the request body that the template
    makes of both.
    """

    event: JsonObject
    config: JsonObject
    # The body: JSON, or a string if the service has another format.
    body: Any


class DestinationTemplate(TypedDict):
    """A template for destinations of one service."""

    # The `templateId` of destinations.
    id: str
    name: str
    description: str
    # The category in the catalog, such as `chat`.
    category: str
    # The name of an icon that clients have.
    icon: str
    # Addresses of the service's own documentation.
    documentationUrls: list[str]
    # The JSON Schema 2020-12 of `config`, with the fields in the order of a form. `title` and
    # `description` are for people. Answers show fields with `secret` as ***.
    configSchema: JsonObject
    # Defaults for a destination's `delivery`.
    defaults: JsonObject
    example: TemplateExample


class TemplatePreview(TypedDict):
    """The request of a template."""

    # Null if `errors` has any.
    request: SketchedRequest | None
    # The problems of `config` or the event.
    errors: list[ErrorDetail]
