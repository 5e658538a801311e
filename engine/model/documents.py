"""Callers' JSON documents: their validation, merge patches (RFC 7396), and refusals of them."""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic.alias_generators import to_camel

from engine.model.complaints import UNKNOWN, of_pydantic
from engine.model.errors import Detail, Refusal

# The largest number of members of a document. Models have far fewer fields. Without this limit, a body
# could have tens of thousands of unknown members. To report them would take tens of milliseconds.
MAX_MEMBERS = 256
MAX_DETAILS = 20  # of one refusal: a longer list helps no caller

DOCUMENT = ConfigDict(extra="forbid", strict=True, frozen=True, alias_generator=to_camel)
_UUID = re.compile(r"[0-9a-fA-F]{8}(-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")

Model = TypeVar("Model", bound=BaseModel)


def read(model: type[Model], document: Mapping[str, Any]) -> Model:
    """Return the document as `model`. Raises Refusal `invalid_request`, naming every offending field."""
    if len(document) > MAX_MEMBERS:
        raise Refusal("invalid_request", f"the body has more than {MAX_MEMBERS} fields")
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise refusal_of(error, document) from None


def refusal_of(
    error: ValidationError,
    document: Mapping[str, Any],
    unknown: str = UNKNOWN,
    depth: int | None = None,
) -> Refusal:
    """Return the refusal for a validation error of a document. `unknown`: the message for an unknown
    field. `depth`: how many steps of each field's path the refusal shows; None: all steps."""
    details = tuple(
        Detail(
            place("", _members(entry["loc"], document)[:depth]),
            unknown
            if entry["type"] == "extra_forbidden"
            else of_pydantic(entry["type"], entry["msg"], entry.get("ctx", {})),
        )
        for entry in error.errors(include_url=False, include_input=False)[:MAX_DETAILS]
    )
    return refused(details)


def is_uuid(text: str) -> bool:
    """Return True if a text is a UUID in the form of 36 characters."""
    return _UUID.fullmatch(text) is not None


def invalid(path: str, message: str) -> Refusal:
    """Return a refusal of one field."""
    return refused((Detail(path, message),))


def refused(details: Sequence[Detail], code: str = "invalid_request") -> Refusal:
    """Return a refusal of several fields."""
    first = details[0]
    message = f"{first.path}: {first.message}" if first.path else first.message
    return Refusal(code, message, tuple(details))


def merged(target: object, patch: object) -> Any:
    """Return `target` with the merge patch applied (RFC 7396). A null in the patch removes a member. An
    object in the patch is merged into the member of the same name."""
    if not isinstance(patch, Mapping):
        return patch
    result = dict(target) if isinstance(target, Mapping) else {}
    for name, value in patch.items():
        if value is None:
            result.pop(name, None)
        else:
            result[name] = merged(result.get(name), value)
    return result


def _members(steps: Sequence[int | str], document: object) -> list[int | str]:
    """Return the steps of a pydantic error's location, without the steps that are not in the document.
    For a union, pydantic adds such a step: the value of the member `kind`."""
    found: list[int | str] = []
    at, last = document, len(steps) - 1
    for number, step in enumerate(steps):
        if isinstance(step, int):
            at = at[step] if isinstance(at, Sequence) and step < len(at) else None
        elif isinstance(at, Mapping):
            if number < last and (step not in at or at.get("kind") == step):
                continue
            at = at.get(step)
        found.append(step)
    return found


def place(root: str, steps: Iterable[int | str]) -> str:
    """Return the path of a place in a document, such as `payload.items[0].name`."""
    path = root
    for step in steps:
        path += f"[{step}]" if isinstance(step, int) else f".{step}"
    return path.removeprefix(".")
