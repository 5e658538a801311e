"""A strict reader of template files: its errors name the file and the entry.

docs/decisions/0029-templates.md explains the keys of a file.
"""

import json
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any

from pydantic import BaseModel, ConfigDict, Field, StringConstraints, ValidationError

from engine.drafts import DeliveryOptions
from engine.model.errors import Refusal
from engine.outbound.ports import Failure
from engine.runtime.toml_file import faults, read
from engine.templates.address import Destined, address_of
from engine.templates.answers import AnswerRules
from engine.templates.definition import ConfigurationSchema, Definition, Example
from engine.templates.language import LeafError
from engine.templates.message import LARGEST_BODY, Format, Message
from engine.templates.structure import Structure
from engine.templates.values import ValueFault, decoded, encoded

ID = re.compile(r"[a-z][a-z0-9-]{0,31}")
LONGEST_TEXT = 4_096  # characters of a field: more than any URL, key or address has
MOST_FIELDS = 20
_STRICT = ConfigDict(extra="forbid", frozen=True)
Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]{0,31}$")]
Line = Annotated[str, StringConstraints(min_length=1, max_length=1_000)]
Link = Annotated[str, StringConstraints(pattern=r"^https://\S+$")]
HeaderName = Annotated[str, StringConstraints(pattern=r"^[a-z0-9-]{1,64}$")]


class TemplateFileError(Exception):
    """A file cannot be used; the message names the file and the entry."""


class _Address(BaseModel):
    model_config = _STRICT

    field: str
    base: str | None = None
    path: Annotated[str, StringConstraints(pattern=r"^(/\S.*)?$")] = ""
    hosts: list[Annotated[str, StringConstraints(pattern=r"^(\*\.)?[a-z0-9.-]+$")]] | None = None
    pattern: str | None = None
    headers: dict[HeaderName, str] = {}


class _Message(BaseModel):
    model_config = _STRICT

    format: Format = "json"
    body: str | None = None  # JSON
    content_type: str | None = None
    limit_bytes: int = Field(LARGEST_BODY, ge=1, le=LARGEST_BODY)
    headers: dict[HeaderName, str] = {}


class _Example(BaseModel):
    model_config = _STRICT

    config: dict[str, Any]
    event: str  # JSON: an outbound body
    body: str  # JSON, or the text of another format


class _TemplateFile(BaseModel):
    model_config = _STRICT

    name: Line
    description: Line
    category: Word
    icon: Word
    documentation: list[Link] = Field(min_length=1)
    config: dict[
        Annotated[str, StringConstraints(pattern=r"^[a-z][A-Za-z0-9]{0,31}$")], dict[str, Any]
    ]
    address: _Address
    message: _Message
    answer: AnswerRules = AnswerRules()
    defaults: dict[str, Any] = {}
    example: _Example


def read_template(path: Path, added: frozenset[str]) -> Definition:
    """Return the template that a file describes. The template can send to the hosts that the file lists,
    and to the hosts in `added`, which the operator allows. Raises TemplateFileError."""
    if ID.fullmatch(path.stem) is None:
        raise TemplateFileError(
            f"{path}: a template's id is its file's name: small letters, digits, -"
        )
    try:
        definition = _definition(path.stem, read(path, _TemplateFile), added)
        _try(definition)
    except ValidationError as error:  # in the delivery options
        raise TemplateFileError(f"{path}: {faults(error)}") from None
    except (ValueError, LeafError, ValueFault, re.error) as error:
        raise TemplateFileError(f"{path}: {error}") from error
    return definition


def _definition(identifier: str, entry: _TemplateFile, added: frozenset[str]) -> Definition:
    configuration = _configuration(entry.config)
    DeliveryOptions.model_validate(entry.defaults)
    address = entry.address
    if (address.base is None) is not (address.path == ""):
        raise ValueError("address: base and path belong together")
    return Definition(
        id=identifier,
        name=entry.name,
        description=entry.description,
        category=entry.category,
        icon=entry.icon,
        documentation=tuple(entry.documentation),
        defaults=entry.defaults,
        example=Example(
            event=_json("example.event", entry.example.event),
            config=entry.example.config,
            body=_json("example.body", entry.example.body)
            if entry.message.format in ("json", "same")
            else entry.example.body,
        ),
        configuration=configuration,
        address=address_of(
            address.model_dump(), configuration.secrets, frozenset(entry.config), added
        ),
        message=_message(entry.message),
        answer=entry.answer,
    )


def _configuration(fields: Mapping[str, dict[str, Any]]) -> ConfigurationSchema:
    if len(fields) > MOST_FIELDS:
        raise ValueError(f"config: more than {MOST_FIELDS} fields")
    required, multiline, schemas = [], [], {}
    for name, given in fields.items():
        field = dict(given)
        if field.pop("required", False):
            required.append(name)
        if field.pop("multiline", False):
            multiline.append(name)
        for key in ("title", "description", "type"):
            if not isinstance(field.get(key), str):
                raise ValueError(f"config.{name}.{key}: is required")  # noqa: TRY004 - of a file
        if field["type"] not in ("string", "boolean", "integer", "number", "array"):
            raise ValueError(f"config.{name}.type: a field holds no objects")
        _bounded(f"config.{name}", field)
        if field.get("secret"):
            field["writeOnly"] = True
            if field["type"] != "string" or "default" in field:
                raise ValueError(f"config.{name}: a secret is a string without a default")
        schemas[name] = field
    return ConfigurationSchema(schemas, required, multiline)


def _bounded(place: str, field: Mapping[str, Any]) -> None:
    kind = field.get("type")
    if kind == "string" and "enum" not in field:
        limit = field.get("maxLength")
        if not isinstance(limit, int) or limit > LONGEST_TEXT:
            raise ValueError(f"{place}.maxLength: is required, and at most {LONGEST_TEXT}")
    if kind == "array":
        items = field.get("items")
        if "maxItems" not in field or not isinstance(items, dict) or items.get("type") != "string":
            raise ValueError(f"{place}: a list holds strings, and has maxItems")
        _bounded(f"{place}.items", items)


def _message(entry: _Message) -> Message:
    if (entry.body is None) is not (entry.format == "same"):
        raise ValueError("message.body: is required, unless the format is same")
    if entry.format == "same" and entry.headers:
        raise ValueError("message.headers: a body that is not read gives none")
    body = None
    if entry.body is not None:
        text = entry.body
        body = Structure(text if entry.format == "text" else _json("message.body", text))
    return Message(
        format=entry.format,
        body=body,
        headers=Structure(dict(entry.headers)),
        content_type=entry.content_type,
        limit_bytes=entry.limit_bytes,
    )


def _json(place: str, text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError as error:
        raise ValueError(f"{place}: {error}") from error


def _try(definition: Definition) -> None:
    """Raise ValueError if the template contradicts its example. The template must accept the example's
    configuration, hide the configuration's secrets in the shown URL, and make the example's body from
    the example's event."""
    example = definition.example
    try:
        definition.check(example.config)
    except Refusal as refusal:
        raise ValueError(f"example.{refusal.message}") from None
    found: Destined = definition.target(example.config)
    for name in definition.secrets:
        secret = example.config.get(name)
        if secret and str(secret) in found.shown_url:
            raise ValueError(f"address: shows config.{name}, which is secret")
    event = encoded(example.event)
    config = definition.complete(example.config)
    rendered = definition.message.render(config, event, str(example.event.get("type", "")))
    if isinstance(rendered, Failure):
        raise ValueError(f"example: {rendered.message}")  # noqa: TRY004 - a fault of the file's text
    made: Any = rendered.body.decode()
    wanted: Any = example.body
    if not isinstance(wanted, str):
        made, wanted = decoded(rendered.body), decoded(encoded(wanted))
    if made != wanted:
        raise ValueError(f"example.body: the template makes {rendered.body.decode()}")
