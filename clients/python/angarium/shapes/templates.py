"""The catalog of destination templates."""

from typing import Any, Literal, TypedDict

from angarium.shapes.events import RefusedDetail
from angarium.shapes.vocabulary import JsonObject


class TemplateExample(TypedDict):
    """An event as it is sent out, a configuration, and what the service is sent for them."""

    event: JsonObject
    config: JsonObject
    body: Any


class DestinationTemplate(TypedDict):
    """What destinations of one service can be made from. `configSchema` is a JSON Schema; its fields with
    `secret` are shown as *** once they are written."""

    id: str
    name: str
    description: str
    category: str
    icon: str
    documentationUrls: list[str]
    configSchema: JsonObject
    defaults: JsonObject
    example: TemplateExample


class SketchedRequest(TypedDict):
    """A request as it would be sent, with masks for secrets."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplatePreview(TypedDict):
    """What a template would send; null where something stands against it."""

    request: SketchedRequest | None
    errors: list[RefusedDetail]
