"""The message of a template: a structure filled with an event's values, encoded, and limited in size."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Literal
from urllib.parse import urlencode

import structlog
from jinja2 import TemplateError

from engine.core.vocabulary import ErrorCategory
from engine.outbound.ports import Failure, Headers, Rendered
from engine.templates.filters import digest, first_text
from engine.templates.language import OMIT
from engine.templates.structure import Structure
from engine.templates.values import ValueFault, as_text, decoded, encoded

log = structlog.get_logger("angarium.templates")
LARGEST_BODY = 1024 * 1024  # bytes: as many as four of the largest events
# The largest body that a template can read, in bytes. Decoding a body of this size that consists of
# numbers or brackets blocks the event loop for up to 25 ms. All events are smaller than this limit, but a
# script's result can exceed it.
LARGEST_READ = 384 * 1024
_INSTANT = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d{1,6})?(?:Z|[+-]\d\d:\d\d)", re.ASCII)
_HEADER = re.compile(r"[\x20-\x7e]{1,1024}")
# Members of an event's data that say what happened.
TEXTS = ("text", "message", "summary", "title", "description")
_NONE: Mapping[str, Any] = {}
Format = Literal["json", "form", "text", "same"]
_TYPES = {
    "json": "application/json",
    "form": "application/x-www-form-urlencoded",
    "text": "text/plain; charset=utf-8",
}


@dataclass(frozen=True, slots=True)
class Message:
    """The message of a template. With the format `same`, the outbound body is sent unchanged."""

    format: Format
    body: Structure | None
    headers: Structure
    content_type: str | None
    limit_bytes: int

    def render(
        self, config: Mapping[str, Any], body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        """Return the request for an outbound body, or a Failure. Never raises."""
        try:
            return self._rendered(config, body, event_type, event_id)
        except ValueFault as fault:
            return _failure(str(fault))
        except TemplateError as error:
            return _failure(f"the template cannot render this event: {error.message}")
        except Exception:  # a fault of the template, which was tried only with its example
            log.exception("template.render_failed", event=event_id)
            return _failure("the template cannot render this event")

    def _rendered(
        self, config: Mapping[str, Any], body: bytes, event_type: str, event_id: str | None
    ) -> Rendered | Failure:
        made = body
        headers: Headers = ()
        if self.body is not None:
            if len(body) > LARGEST_READ:
                return _failure(
                    f"the event has {len(body)} bytes; the template takes {LARGEST_READ}"
                )
            document = decoded(body)
            event = event_of(document, event_type, event_id)
            variables = {"event": event, "body": document, "config": config}
            made = self._encoded(self.body.value(variables))
            headers = self._headers(variables)
        if len(made) > self.limit_bytes:
            return _failure(
                f"the message has {len(made)} bytes; the service takes {self.limit_bytes}"
            )
        return Rendered(made, headers)

    def _encoded(self, value: Any) -> bytes:
        if self.format == "form":
            fields = {name: as_text(each) for name, each in value.items()}
            return urlencode(fields, errors="replace").encode("ascii")
        if self.format == "text":
            return as_text(value).encode("utf-8", "replace")
        return encoded(None if value is OMIT else value)

    def _headers(self, variables: dict[str, Any]) -> Headers:
        found = []
        kind = self.content_type or _TYPES[self.format]
        if kind != _TYPES["json"]:  # the default type of requests
            found.append(("content-type", kind))
        for name, value in self.headers.value(variables).items():
            text = as_text(value)
            if _HEADER.fullmatch(text) is None:
                raise ValueFault(f"the event gives no usable value for the header {name}")
            found.append((name, text))
        return tuple((name.encode("ascii"), value.encode("ascii")) for name, value in found)


def event_of(document: Any, event_type: str, event_id: str | None = None) -> dict[str, Any]:
    """Return the variable `event` of templates. It has the same members whatever `document` contains.

    `document` is an outbound body, or any JSON that a script returned. The event's id is `event_id`, else
    the id in `document`, else a digest of `document`, which is the same at each attempt. If `document`
    has no member `data`, the whole document is the event's data.
    """
    found = document if isinstance(document, dict) else _NONE
    metadata = found.get("metadata")
    attachments = found.get("attachments")
    data = found.get("data", document)
    return {
        "type": event_type,
        "id": event_id or _text(found.get("id")) or digest(document),
        "timestamp": _instant(found.get("timestamp")),
        "data": data,
        "text": first_text(data, *TEXTS),
        "metadata": metadata if isinstance(metadata, dict) else {},
        "source": _text(found.get("source")),
        "customerExternalId": _text(found.get("customerExternalId")),
        "correlationId": _text(found.get("correlationId")),
        "attachments": attachments if isinstance(attachments, list) else [],
    }


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _instant(value: object) -> str | None:
    """Return the value if it is an ISO 8601 instant, else None. A script can have set any value."""
    if not isinstance(value, str) or _INSTANT.fullmatch(value) is None:
        return None
    try:
        datetime.fromisoformat(value)
    except ValueError:
        return None
    return value


def _failure(message: str) -> Failure:
    return Failure(ErrorCategory.TRANSFORM, message)
