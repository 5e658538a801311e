"""Destination templates. Each configuration, event, answer and leaf (a text in the template language) is
either accepted, or refused with a reason."""

import json
from typing import Any

from api.bodies import read_object
from api.envelope import envelope
from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.model.errors import Refusal
from engine.outbound.ports import Failure, Rendered
from engine.templates.catalog import read_catalog
from engine.templates.definition import Definition
from engine.templates.language import LeafError
from engine.templates.message import LARGEST_BODY
from engine.templates.structure import Structure
from engine.wire.failure import RETRY_AFTER_LIMIT_S
from engine.wire.head import render_head
from engine.wire.target import parse_target
from tests.fuzz.door import Door

DEFINITIONS = read_catalog().all()
LEAF_BYTES = 500  # only operators write leaves
OURS = "the template cannot render this event"  # the message for a fault that is not the event's


def check(data: bytes) -> None:
    """The first byte chooses the template. The other bytes are used four times: as the template's
    configuration, as an event, as an answer of the template's service, and as a text in the template
    language (a leaf).
    """
    if not data:
        return
    definition = DEFINITIONS[data[0] % len(DEFINITIONS)]
    rest = data[1:]
    try:
        Structure(rest[:LEAF_BYTES].decode("utf-8", "replace"))
    except LeafError as error:
        assert str(error)
    try:
        document = read_object(rest)
    except Refusal:
        document = None
    if document is not None:
        _check_configuration(definition, document)
    _check_message(definition, rest)
    _check_answer(definition, rest)


def _check_configuration(definition: Definition, config: dict[str, Any]) -> None:
    try:
        definition.check(config)
    except Refusal as refusal:
        assert refusal.status == 400
        json.loads(envelope(refusal.code, refusal.message, "r", refusal.details))
        return
    destined = definition.target(config)
    headers = [(name.encode(), value.encode()) for name, value in destined.headers]
    head = render_head(b"POST", parse_target(destined.url), headers)
    assert head.count(b"\r\n") == 2 + len(destined.headers)


def _check_message(definition: Definition, body: bytes) -> None:
    config = definition.complete(definition.example.config)
    made = definition.message.render(config, body, "order.paid", None)
    if isinstance(made, Rendered):
        assert len(made.body) <= LARGEST_BODY
        assert all(b"\r" not in value and b"\n" not in value for _, value in made.headers)
    else:
        assert isinstance(made, Failure)
        assert made.message != OURS, made


def _check_answer(definition: Definition, body: bytes) -> None:
    for status in (200, 400, 429, 503):
        success = status == 200
        outcome = Outcome(
            1_700_000_000.0,
            10,
            success,
            status,
            ((b"retry-after", body[:100]), (b"x-ratelimit-reset", body[:40])),
            body,
            len(body) % 2 == 1,
            None if success else ErrorCategory.HTTP_4XX,
            None if success else "no",
        )
        judged = definition.answer.judge(outcome)
        assert judged.success is (judged.category is None)
        wait = judged.retry_after_s
        assert wait is None or 0 <= wait <= RETRY_AFTER_LIMIT_S
        (judged.message or "").encode("utf-8", "replace")


_EVENTS = tuple(
    bytes([number]) + json.dumps(each).encode()
    for number, definition in enumerate(DEFINITIONS)
    for each in (definition.example.event, definition.example.config)
)
DOOR = Door(
    "template",
    check,
    ("engine.templates",),
    (
        *_EVENTS,
        b'\x01{{ event.data | path("a.b", 1) | truncate(5) }}',
        b'\x02{% if event.text is text %}{{ event.text | slack(10, "bytes") }}{% endif %}',
        b'\x03{"ok":false,"error":"ratelimited","retry_after":1.5,"errors":[{"message":"x"}]}',
        b'\x04{"message":"x","code":50035',
    ),
    (
        b"{{ ", b" }}", b"{% if ", b"%}", b"{% for x in y %}", b"event.", b"config.", b" | ", b"path(",
        b"among({", b"facts(9)", b"__class__", b"~", b"*", b"[0]", b"omit", b'"data":', b'"text":',
        b"1e999", b"\\ud800", b"-0", b"9" * 40, b"@everyone", b"<!here>", b"]]>", b"\x00", b'"ok":',
        b'"retry_after":', b"[[[[[[[[", b"null", b"\xe2\x80\xae",
    ),
    most_lines=100_000,
)  # fmt: skip
