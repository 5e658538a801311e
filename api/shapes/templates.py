"""The shapes of the catalog of destination templates in answers."""

from typing import Any, Literal

from pydantic import Field

from api.shapes import ErrorDetail
from engine.drafts import Document


class TemplateExample(Document):
    """An event as it is sent out, a configuration, and what the service is sent for them."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Any = Field(description="JSON; a string where the service takes another format.")


class DestinationTemplate(Document):
    """What destinations of one service can be made from."""

    id: str = Field(description="The `templateId` of destinations.")
    name: str
    description: str
    category: str = Field(description="What to list it under, such as `chat`.")
    icon: str = Field(description="Names a picture that the reader has.")
    documentation_urls: list[str] = Field(description="Of the service's own documentation.")
    config_schema: dict[str, Any] = Field(
        description="JSON Schema 2020-12 of `config`, its fields in the order to be asked for. `title` "
        "and `description` are for people; fields with `secret` are shown as *** once they are written."
    )
    defaults: dict[str, Any] = Field(
        description="What stands in a destination's `delivery` where it says nothing."
    )
    example: TemplateExample


class SketchedRequest(Document):
    """A request as it would be sent, with masks for secrets. Headers that differ from attempt to attempt,
    such as the signature, are left out."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplatePreview(Document):
    """What a template would send."""

    request: SketchedRequest | None = Field(description="Null where something stands against it.")
    errors: list[ErrorDetail] = Field(description="What is wrong with `config` or the event.")
