"""The shapes of the catalog of destination templates in answers."""

from typing import Annotated, Any, Literal

from typing_extensions import TypedDict

from api.shapes import ErrorDetail
from engine.drafts import told


class TemplateExample(TypedDict):
    """An event as it is sent out, a configuration, and what the service is sent for them."""

    event: dict[str, Any]
    config: dict[str, Any]
    body: Annotated[Any, told("JSON; a string where the service takes another format.")]


class DestinationTemplate(TypedDict):
    """What destinations of one service can be made from."""

    id: Annotated[str, told("The `templateId` of destinations.")]
    name: str
    description: str
    category: Annotated[str, told("What to list it under, such as `chat`.")]
    icon: Annotated[str, told("Names a picture that the reader has.")]
    documentationUrls: Annotated[list[str], told("Of the service's own documentation.")]
    configSchema: Annotated[
        dict[str, Any],
        told(
            "JSON Schema 2020-12 of `config`, its fields in the order to be asked for. `title` "
            "and `description` are for people; fields with `secret` are shown as *** once they are "
            "written."
        ),
    ]
    defaults: Annotated[
        dict[str, Any], told("What stands in a destination's `delivery` where it says nothing.")
    ]
    example: TemplateExample


class SketchedRequest(TypedDict):
    """A request as it would be sent, with masks for secrets. Headers that differ from attempt to attempt,
    such as the signature, are left out."""

    method: Literal["POST"]
    url: str
    headers: dict[str, str]
    body: str


class TemplatePreview(TypedDict):
    """What a template would send."""

    request: Annotated[SketchedRequest | None, told("Null where something stands against it.")]
    errors: Annotated[list[ErrorDetail], told("What is wrong with `config` or the event.")]
