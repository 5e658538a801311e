"""The components of the document."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import TypeAdapter

from api.openapi.prose import ERROR_EXAMPLES, ERRORS
from api.openapi.readable import readable
from api.openapi.vocabulary import shared, sharing
from engine.model.errors import STATUS_OF_CODE

REFERENCE = "#/components/schemas/{model}"
ERROR = "#/components/schemas/Error"
EMPTY = "#/components/schemas/Empty"
_EMPTY = {
    "type": "object",
    "additionalProperties": False,
    "properties": {},
    "description": "The body of a POST without parameters: an empty object. It can be left out.",
}
_PAGE = re.compile(r"Page_(\w+)_")
# A route has these codes only if `Route.codes` names them.
RARE = frozenset({"schema_violation", "idempotency_mismatch", "loop_detected"})
_WAITING = (429, 503)  # the statuses with Retry-After
_HEADERS: dict[str, tuple[str, dict[str, Any], Any]] = {
    "X-Request-Id": (
        "The request's id, which the server's log shows.",
        {"type": "string"},
        "1f0c2a9b4e-5d",
    ),
    "X-RateLimit-Limit": (
        "Requests allowed in the current window.",
        {"type": "integer", "minimum": 1},
        12_000,
    ),
    "X-RateLimit-Remaining": (
        "Requests left in the window.",
        {"type": "integer", "minimum": 0},
        11_999,
    ),
    "X-RateLimit-Reset": (
        "Unix epoch seconds when the window resets.",
        {"type": "integer", "minimum": 0},
        1_795_435_260,
    ),
}
_CHALLENGE = (
    "The accepted scheme of authentication.",
    {"type": "string", "const": "Bearer"},
    "Bearer",
)
_RANGE = ("The length of the whole content in bytes.", {"type": "string"}, "bytes */1042")
_RETRY = ("Seconds to wait before trying again.", {"type": "integer", "minimum": 1}, 17)

CREDENTIALS = {
    "apiKey": "An API key (`ang_dev_...`, `ang_sta_...`, `ang_pro_...`): one environment, one scope "
    "(`ingest`, `read` or `manage`).",
    "mcpKey": "An MCP key (`angmk_...`): the whole workspace, scope `read` or `manage`. Every call names "
    "its environment.",
    "embedSession": "The token of an embed session (`POST /embed/sessions`): one customer, for some "
    "minutes.",
}


def schemas_of(
    models: Iterable[Any], forms: Mapping[str, Any]
) -> tuple[dict[str, Any], dict[Any, Any]]:
    """Return all schemas by name, and for each of `models` the reference to its schema. `forms` are
    schemas that have no model, by name."""
    by_model, definitions = TypeAdapter.json_schemas(
        [(model, "validation", TypeAdapter(model)) for model in dict.fromkeys(models)],
        ref_template=REFERENCE,
    )
    references = {model: reference for (model, _), reference in by_model.items()}
    names = {name: _name(name, schema) for name, schema in definitions["$defs"].items()}
    schemas = {names[name]: plain(schema) for name, schema in definitions["$defs"].items()}
    assert len(schemas) == len(names), "two models of one name"
    _rename(schemas, names)
    _rename(references, names)
    _name_codes(schemas)
    for schema in schemas.values():
        if schema.get("properties"):  # pydantic sets it for models only
            schema.setdefault("additionalProperties", False)
    ours = {**shared(), "Empty": _EMPTY, **forms}
    assert not ours.keys() & schemas.keys(), "a model has the name of a shape that is made here"
    return sharing(schemas) | ours, references


def _name(name: str, schema: dict[str, Any]) -> str:
    """A page of `EventItem`s is an `EventPage`."""
    page = _PAGE.fullmatch(name)
    return f"{page[1].removesuffix('Item')}Page" if page else str(schema.get("title", name))


def _rename(value: Any, names: dict[str, str]) -> None:
    """`EventPage`, not `Page_EventItem_`."""
    if isinstance(value, dict):
        reference = value.get("$ref")
        if isinstance(reference, str):
            value["$ref"] = REFERENCE.format(model=names[reference.rpartition("/")[2]])
        for inner in value.values():
            _rename(inner, names)
    elif isinstance(value, list):
        for inner in value:
            _rename(inner, names)


def _name_codes(schemas: dict[str, Any]) -> None:
    for name in ("Error", "Rejection"):
        if name in schemas:
            schemas[name]["properties"]["code"]["enum"] = list(STATUS_OF_CODE)


def plain(schema: Any) -> Any:
    """Drop titles, and drop defaults that are null. In a merge patch, null removes a field, but an absent
    field changes nothing. So the document must not state null as the default of an absent field."""
    if isinstance(schema, list):
        return [plain(item) for item in schema]
    if not isinstance(schema, dict):
        return schema
    kept = {
        key: plain(value)
        for key, value in schema.items()
        if not (key == "title" and isinstance(value, str))
        and not (key == "default" and value is None)
    }
    return readable(kept)


def headers() -> dict[str, Any]:
    """Return every header of answers."""
    return {
        name: {"description": text, "schema": schema, "example": example}
        for name, (text, schema, example) in (
            {
                **_HEADERS,
                "Content-Range": _RANGE,
                "Retry-After": _RETRY,
                "WWW-Authenticate": _CHALLENGE,
            }
        ).items()
    }


def header_references(status: int = 200) -> dict[str, Any]:
    """Return the headers of an answer with that status."""
    names = [*_HEADERS, *(["Retry-After"] if status in _WAITING else [])]
    if status == 401:
        names.append("WWW-Authenticate")
    if status == 416:
        names.append("Content-Range")
    return {name: {"$ref": f"#/components/headers/{name}"} for name in names}


def security_schemes() -> dict[str, Any]:
    """Return the kinds of credentials."""
    return {
        name: {"type": "http", "scheme": "bearer", "description": text}
        for name, text in CREDENTIALS.items()
    }


def error_responses() -> dict[str, Any]:
    """Return the shape of each error, once for all routes."""
    return {
        f"Error{status}": error_response(
            status,
            [code for code, of in STATUS_OF_CODE.items() if of == status and code not in RARE],
        )
        for status in ERRORS
    }


def error_response(status: int, codes: list[str]) -> dict[str, Any]:
    """Return the response of an error with these codes."""
    named = ", ".join(f"`{code}`" for code in codes)
    return {
        "description": f"{ERRORS[status]} Code: {named}.",
        "headers": header_references(status),
        "content": {
            "application/json": {
                "schema": {"$ref": ERROR},
                "examples": {code: {"value": error_example(code)} for code in codes},
            }
        },
    }


def error_example(code: str) -> dict[str, Any]:
    """Return an envelope with that code."""
    message, details = ERROR_EXAMPLES[code]
    document: dict[str, Any] = {"code": code, "message": message}
    if details:
        document["details"] = [{"path": path, "message": text} for path, text in details]
    return {**document, "requestId": "1f0c2a9b4e-5d"}
