"""Simulated services (doubles). Each checks requests against the published format of the real service.

A double answers as the service's documents say, and refuses a request with the same words as the service.
A test can choose another answer to valid requests.
"""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import jsonschema_rs

from tests.templates.formats import FORMATS, LIMITS
from tests.wire.street import Visit


@dataclass(frozen=True)
class Answer:
    status: int
    body: Any = ""  # a text, or JSON
    headers: dict[str, str] = field(default_factory=dict)

    @property
    def wire(self) -> bytes:
        text = self.body if isinstance(self.body, str) else json.dumps(self.body)
        raw = text.encode()
        lines = [f"HTTP/1.1 {self.status} x", f"content-length: {len(raw)}"]
        lines += [f"{name}: {value}" for name, value in self.headers.items()]
        if self.status == 204:
            lines.pop(1)
            raw = b""
        return "\r\n".join(lines).encode() + b"\r\n\r\n" + raw


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: bytes


@dataclass(frozen=True)
class Service:
    """The behaviour of a service."""

    path: str  # a pattern of the request's path and query
    good: Answer
    bad: Callable[[str], Answer]  # the answer to a refused request, for a reason
    headers: dict[str, str] = field(default_factory=dict)  # patterns of the required headers
    config: dict[str, Any] = field(default_factory=dict)  # besides the address
    address: str = "webhookUrl"  # the configuration's field with the address
    at: str = ""  # the address's path after the double's origin


def _worded(code: int, /, **members: Any) -> Callable[[str], Answer]:
    """`...` stands for the reason of the refusal."""

    def bad(reason: str) -> Answer:
        said = {name: reason if each == "..." else each for name, each in members.items()}
        return Answer(code, said)

    return bad


MAIL = {"from": "orders@example.com", "to": ["desk@example.com"]}
SERVICES: dict[str, Service] = {
    "webhook": Service(
        path="/hooks",
        good=Answer(200, "thanks"),
        bad=lambda reason: Answer(400, reason),
        headers={"authorization": "Bearer a"},
        config={"authorization": "Bearer a"},
        address="url",
        at="/hooks",
    ),
    "zapier": Service(
        path="/hooks/catch/1234567/abc123/",
        good=Answer(200, {"status": "success", "id": "1", "attempt": "1", "request_id": "1"}),
        bad=_worded(400, status="error"),
        at="/hooks/catch/1234567/abc123/",
    ),
    "n8n": Service(
        path="/webhook/abc",
        good=Answer(200, {"message": "Workflow was started"}),
        bad=_worded(404, code=404, message="..."),
        headers={"authorization": "Basic abc"},
        config={"authorization": "Basic abc"},
        at="/webhook/abc",
    ),
    "make": Service(
        path="/abcdefghijklmnopqrst",
        good=Answer(200, "Accepted"),
        bad=lambda reason: Answer(400, reason),
        headers={"x-make-apikey": "key"},
        config={"apiKey": "key"},
        at="/abcdefghijklmnopqrst",
    ),
    "slack": Service(
        path="/services/T0/B0/xyz",
        good=Answer(200, "ok"),
        bad=lambda reason: Answer(400, "invalid_payload"),
        at="/services/T0/B0/xyz",
    ),
    "slack-bot": Service(
        path="/api/chat.postMessage",
        good=Answer(200, {"ok": True, "channel": "C1", "ts": "1.2", "message": {"text": "x"}}),
        bad=_worded(200, ok=False, error="invalid_blocks"),
        headers={
            "authorization": "Bearer xoxb-1",
            "content-type": "application/json; charset=utf-8",
        },
        config={"token": "xoxb-1", "channel": "C1"},
        address="apiUrl",
    ),
    "discord": Service(
        path="/api/webhooks/12345/abcdefghijklmnopqrstuvwxyz",
        good=Answer(204),
        bad=_worded(400, code=50035, message="Invalid Form Body", errors="..."),
        at="/api/webhooks/12345/abcdefghijklmnopqrstuvwxyz",
    ),
    "teams": Service(
        path=r"/workflows/a/triggers/manual/paths/invoke\?api-version=1&sig=x",
        good=Answer(202),
        bad=lambda reason: Answer(
            400, {"error": {"code": "TriggerInputSchemaMismatch", "message": reason}}
        ),
        at="/workflows/a/triggers/manual/paths/invoke?api-version=1&sig=x",
    ),
    "pagerduty": Service(
        path="/v2/enqueue",
        good=Answer(202, {"status": "success", "message": "Event processed", "dedup_key": "x"}),
        bad=lambda reason: Answer(
            400,
            {"status": "invalid event", "message": "Event object is invalid", "errors": [reason]},
        ),
        config={"routingKey": "0123456789abcdef0123456789abcdef"},
        address="apiUrl",
    ),
    "opsgenie": Service(
        path="/v2/alerts",
        good=Answer(202, {"result": "Request will be processed", "took": 0.3, "requestId": "1"}),
        bad=_worded(422, message="...", took=0.1, requestId="1"),
        headers={"authorization": "GenieKey 01234567"},
        config={"apiKey": "01234567"},
        address="apiUrl",
    ),
    "datadog": Service(
        path="/api/v1/events",
        good=Answer(202, {"status": "ok", "event": {"id": 1}}),
        bad=lambda reason: Answer(400, {"errors": [reason]}),
        headers={"dd-api-key": "[0-9a-f]{32}"},
        config={"apiKey": "0123456789abcdef0123456789abcdef"},
        address="apiUrl",
    ),
    "github": Service(
        path="/repos/acme/shop/dispatches",
        good=Answer(204),
        bad=_worded(422, message="...", documentation_url="https://docs.github.com/rest"),
        headers={
            "authorization": "Bearer t0ken",
            "accept": r"application/vnd\.github\+json",
            "x-github-api-version": "2022-11-28",
            "user-agent": ".+",
        },
        config={"owner": "acme", "repository": "shop", "token": "t0ken"},
        address="apiUrl",
    ),
    "mattermost": Service(
        path="/hooks/abcdefghijklmnopqrstuvwxyz",
        good=Answer(200, "ok"),
        bad=_worded(400, id="web.incoming_webhook.parse.app_error", message="...", status_code=400),
        at="/hooks/abcdefghijklmnopqrstuvwxyz",
    ),
    "google-chat": Service(
        path=r"/v1/spaces/A/messages\?key=k&token=t",
        good=Answer(200, {"name": "spaces/A/messages/1", "thread": {"name": "spaces/A/threads/1"}}),
        bad=lambda reason: Answer(
            400, {"error": {"code": 400, "message": reason, "status": "INVALID_ARGUMENT"}}
        ),
        headers={"content-type": "application/json; charset=UTF-8"},
        at="/v1/spaces/A/messages?key=k&token=t",
    ),
    "telegram": Service(
        path="/bot12345:abcdefghijklmnopqrstuvwxyz/sendMessage",
        good=Answer(200, {"ok": True, "result": {"message_id": 1}}),
        bad=_worded(400, ok=False, error_code=400, description="..."),
        config={"token": "12345:abcdefghijklmnopqrstuvwxyz", "chatId": "-100"},
        address="apiUrl",
    ),
    "resend": Service(
        path="/emails",
        good=Answer(200, {"id": "49a3999c-0ce1-4ea6-ab68-afcd6dc2e794"}),
        bad=_worded(422, statusCode=422, name="validation_error", message="..."),
        headers={"authorization": "Bearer re_1", "idempotency-key": "[ -~]{1,256}"},
        config={"apiKey": "re_1", **MAIL},
        address="apiUrl",
    ),
    "postmark": Service(
        path="/email",
        good=Answer(200, {"ErrorCode": 0, "Message": "OK", "MessageID": "1"}),
        bad=_worded(422, ErrorCode=300, Message="..."),
        headers={"x-postmark-server-token": "tok", "accept": "application/json"},
        config={"serverToken": "tok", **MAIL},
        address="apiUrl",
    ),
    "sendgrid": Service(
        path="/v3/mail/send",
        good=Answer(202),
        bad=lambda reason: Answer(
            400, {"errors": [{"message": reason, "field": None, "help": None}]}
        ),
        headers={"authorization": r"Bearer SG\.k"},
        config={"apiKey": "SG.k", **MAIL},
        address="apiUrl",
    ),
}


class Double:
    """One running service; `requests` are those that it accepted."""

    def __init__(self, name: str) -> None:
        self.service = SERVICES[name]
        self.requests: list[Request] = []
        self.refused: list[str] = []
        self.instead: Answer | None = None
        self._format = jsonschema_rs.Draft202012Validator(FORMATS[name], validate_formats=True)
        self._limit = LIMITS.get(name)

    async def serve(self, visit: Visit) -> None:
        while (raw := await visit.request()) is not None:
            await visit.send(self._answer(_read(raw)).wire)

    def _answer(self, request: Request) -> Answer:
        reason = self._complaint(request)
        if reason is not None:
            self.refused.append(reason)
            return self.service.bad(reason)
        self.requests.append(request)
        return self.instead or self.service.good

    def _complaint(self, request: Request) -> str | None:
        if re.fullmatch(self.service.path, request.path) is None:
            return f"no such path: {request.path}"
        needed = {"content-type": "application/json.*", **self.service.headers}
        for name, pattern in needed.items():
            if re.fullmatch(pattern, request.headers.get(name, "")) is None:
                return f"header {name}: {request.headers.get(name)}"
        try:
            message = json.loads(request.body)
        except ValueError:
            return "no JSON"
        for error in self._format.iter_errors(message):
            return f"{error.instance_path}: {error.message}"[:300]
        if self._limit is not None and not self._limit(request.body, message):
            return "too large"
        return None


def _read(raw: bytes) -> Request:
    head, _, body = raw.partition(b"\r\n\r\n")
    first, *lines = head.decode().split("\r\n")
    method, path, _ = first.split(" ")
    assert method == "POST"
    headers = {name.lower(): value for name, value in (line.split(": ", 1) for line in lines)}
    return Request(path, headers, body)
