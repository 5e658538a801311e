"""Modules of the console without a page: JSON, differences, signatures, routes, formats, streams."""

import base64
import hashlib
import hmac
import json
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page

from tests.browser.assets import ASSETS, Front
from tests.browser.window import Window

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
NOW_S = 1_800_000_000


@pytest.fixture(scope="module")
def blank(browser: Window, front: Front) -> Iterator[Page]:
    """A page that shows nothing, from which modules can be imported."""
    with browser.another(front.url) as window:
        window.page.goto(f"{front.url}{ASSETS}/console/icon.svg")
        yield window.page


def call(page: Page, module: str, name: str, *arguments: Any) -> Any:
    """Call an exported function of a module below `web`."""
    return page.evaluate(
        "([module, name, given]) => import(module).then((found) => found[name](...given))",
        [f"{ASSETS}/{module}", name, arguments],
    )


TEXTS = [
    '{"a":1}',
    '{ "n" : 123456789012345678901234567890, "n": 1e400, "s": "\\u00e9\\"}{" }',
    '{"deep": [[], {}, [1, -0.0, {"x": null}]], "": true}',
    '"text"',
]


@pytest.mark.parametrize("text", TEXTS)
def test_tokens_are_every_character_of_a_json_text(blank: Page, text: str) -> None:
    found = call(blank, "shared/json.js", "tokens", text)
    assert "".join(part for _, part in found) == text


@pytest.mark.parametrize("text", TEXTS)
def test_laid_out_json_changes_space_alone(blank: Page, text: str) -> None:
    found = call(blank, "shared/json.js", "laidOut", text)
    parts = [part for kind, part in found if kind in ("key", "string", "number", "word")]
    tokens = call(blank, "shared/json.js", "tokens", text)
    assert parts == [each for kind, each in tokens if kind in ("key", "string", "number", "word")]
    assert json.loads("".join(part for _, part in found)) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "path", "found"),
    [
        (
            '{"payload": {"n": 10000000000000000000001}}',
            ["payload"],
            '{"n": 10000000000000000000001}',
        ),
        ('{"a": {"payload": 1}, "payload": [1, {"a": 2}]}', ["payload"], '[1, {"a": 2}]'),
        ('{"event": {"payload": {"a": "}"}}}', ["event", "payload"], '{"a": "}"}'),
        ('{"a": 1, "a": 2}', ["a"], "2"),
        ('{"a": 1}', ["b"], None),
    ],
)
def test_a_member_is_its_exact_text(
    blank: Page, text: str, path: list[str], found: str | None
) -> None:
    assert call(blank, "shared/json.js", "member", text, path) == found


def test_a_difference_keeps_what_is_equal(blank: Page) -> None:
    assert call(blank, "shared/diff.js", "difference", "a\nb\nc", "a\nx\nc\nd") == [
        ["same", "a"],
        ["removed", "b"],
        ["added", "x"],
        ["same", "c"],
        ["added", "d"],
    ]


def signed(body: str, key: bytes = b"k" * 32, at: int = NOW_S) -> dict[str, str]:
    """Return the headers that a body is sent with."""
    made = hmac.new(key, f"msg_1.{at}.{body}".encode(), hashlib.sha256).digest()
    signature = "v1," + base64.b64encode(made).decode()
    return {"webhook-id": "msg_1", "webhook-timestamp": str(at), "webhook-signature": signature}


BODY = '{"type": "a.b", "data": {"n": 1.0}}'
CASES = [
    ("valid", None, {}),
    ("stale", "400", {"now": (NOW_S + 400) * 1000}),
    ("newline", str(len(BODY)), {"body": BODY + "\n"}),
    ("secret", None, {"secret": "whsec_%%%"}),
    ("mismatch", None, {"body": BODY + "x"}),
    ("headers", "webhook-id", {"headers": {**signed(BODY), "webhook-id": ""}}),
    ("asymmetric", None, {"headers": {**signed(BODY), "webhook-signature": "v1a,AAAA"}}),
    ("undecoded", None, {"headers": signed(BODY, SECRET.removeprefix("whsec_").encode())}),
    ("reserialised", "33", {"body": BODY.replace("1.0", "1.00"), "sent": BODY}),
    ("changed", "30", {"body": BODY.replace("1.0", "2.0"), "sent": BODY}),
    ("reserialised", "8", {"body": BODY, "headers": signed('{"type":"a.b","data":{"n":1}}')}),
]


@pytest.mark.parametrize(("kind", "detail", "changed"), CASES)
def test_the_signature_checker_names_the_mistake(
    blank: Page, kind: str, detail: str | None, changed: dict[str, Any]
) -> None:
    given = {"body": BODY, "secret": SECRET, "headers": signed(BODY), "now": NOW_S * 1000}
    verdict = call(blank, "shared/signature.js", "check", {**given, **changed})
    assert (verdict["kind"], verdict.get("detail")) == (kind, detail)


def test_headers_are_read_however_they_were_copied(blank: Page) -> None:
    text = 'Webhook-Id: msg_1\n  "webhook-timestamp": "12",\nwebhook-signature: v1,a= v1,b='
    assert call(blank, "shared/signature.js", "parseHeaders", text) == {
        "webhook-id": "msg_1",
        "webhook-timestamp": "12",
        "webhook-signature": "v1,a= v1,b=",
    }


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("/", {"page": "home", "params": {}}),
        ("/events/1", {"page": "event", "params": {"id": "1"}}),
        ("/schemas/a%2Fb", {"page": "schema", "params": {"type": "a/b"}}),
        ("/events/1/2", None),
    ],
)
def test_a_route_takes_one_segment_a_parameter(blank: Page, path: str, found: Any) -> None:
    routes = [["/", "home"], ["/events/:id", "event"], ["/schemas/:type", "schema"]]
    assert call(blank, "shared/router.js", "match", routes, path) == found


def test_a_stream_is_read_across_the_borders_of_its_pieces(blank: Page) -> None:
    found = blank.evaluate(
        """async ([module, pieces]) => {
          const { readEvents } = await import(module);
          const encoder = new TextEncoder();
          const body = new ReadableStream({
            start(controller) {
              for (const piece of pieces) controller.enqueue(encoder.encode(piece));
              controller.close();
            },
          });
          const told = [];
          await readEvents(body, (topic, data) => told.push([topic, data]));
          return told;
        }""",
        [
            f"{ASSETS}/shared/stream.js",
            [": hello\n\nevent: he", 'alth\ndata: {"a":', "1}\n", '\ndata: {"b": 2}\r\n\r\n'],
        ],
    )
    assert found == [["health", {"a": 1}], ["message", {"b": 2}]]


@pytest.mark.parametrize(
    ("name", "given", "text"),
    [
        ("percent", 0.99874, "99.87%"),
        ("percent", None, "\u2013"),
        ("duration", 940, "940 ms"),
        ("duration", 3_725_000, "1 h 2 min"),
        ("bytes", 262_144, "256 KiB"),
        ("short", "01a20d2f-2c40-7000-b999-9ec428575226", "01a20d2f…5226"),
        ("words", "HTTP_5XX", "HTTP 5xx"),
        ("words", "IN_DLQ", "Dead letter"),
    ],
)
def test_figures_are_told_as_people_read_them(
    blank: Page, name: str, given: Any, text: str
) -> None:
    assert call(blank, "shared/format.js", name, given) == text


def test_new_rows_take_the_places_of_rows_that_have_gone(blank: Page) -> None:
    places = blank.evaluate(
        """async (module) => {
          const { placed } = await import(module);
          const found = [];
          let known = new Map();
          for (const ids of [["a", "b", "c"], ["c", "d", "e"], ["x", "c", "d", "e"]]) {
            known = placed(known, ids);
            found.push([...known]);
          }
          return found;
        }""",
        f"{ASSETS}/shared/ui/table.js",
    )
    assert places == [
        [["a", 0], ["b", 1], ["c", 2]],
        [["c", 2], ["d", 0], ["e", 1]],
        [["x", 3], ["c", 2], ["d", 0], ["e", 1]],
    ]
