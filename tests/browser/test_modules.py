"""Functions of the console's modules, called in a tab that shows no page of the console: JSON,
differences, signatures, routes, formats, streams.
"""

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
    with browser.another(front.url) as window:
        window.page.goto(f"{front.url}{ASSETS}/console/icon.svg")
        yield window.page


def call(page: Page, module: str, name: str, *arguments: Any) -> Any:
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
    ("empty", None, {"body": "", "sent": BODY}),
    ("other", None, {"headers": signed(BODY, b"o" * 32), "sent": BODY}),
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
        ("duration", 940, "940\u00a0ms"),
        ("duration", 3_725_000, "1\u00a0h 2\u00a0min"),
        ("span", 754, "12\u00a0min"),
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


def listed(*numbers: int, cursor: str | None = None, **more: Any) -> dict[str, Any]:
    items = [{"id": each, "createdAt": f"2026-01-01T00:00:{each:02}.000Z"} for each in numbers]
    return {"items": items, "nextCursor": cursor, **more}


@pytest.mark.parametrize(
    ("old", "page", "ids", "cursor"),
    [
        (listed(4, 3, 2, 1, cursor="old"), listed(5, 4, 3, cursor="new"), [5, 4, 3, 2, 1], "old"),
        (listed(4, 3, 2, 1), listed(5, 4), [5, 4], None),
        (listed(4, 3, cursor="old"), listed(9, 8, cursor="new"), [9, 8], "new"),
        (listed(4, 3, cursor="old"), listed(4, 3, cursor="new"), [4, 3], "new"),
        (listed(cursor="old"), listed(cursor="new"), [], "old"),
        (
            listed(4, 2, cursor="old"),
            listed(cursor="new", searchedTo="2026-01-01T00:00:03.000Z"),
            [2],
            "old",
        ),
    ],
    ids=["some behind", "whole", "too many new", "none behind", "a search", "rare"],
)
def test_a_list_that_is_loaded_anew_keeps_the_rows_behind_its_beginning(
    blank: Page, old: Any, page: Any, ids: list[int], cursor: str | None
) -> None:
    found = call(blank, "shared/resource.js", "continued", old, page)
    assert ([each["id"] for each in found["items"]], found["nextCursor"]) == (ids, cursor)


QUEUE = {
    "inFlight": 1,
    "effectiveConcurrency": 8,
    "oldestPendingSeconds": 60,
    "drainSeconds": None,
    "arrivalsPerSecond": 2,
    "deliveredPerSecond": 2,
}


@pytest.mark.parametrize(
    ("late", "state", "hold", "queue"),
    [
        (False, "HEALTHY", None, {}),  # a retry waits for its time
        (True, "HEALTHY", None, {"inFlight": 8}),
        (True, "HEALTHY", None, {"arrivalsPerSecond": 3}),
        (True, "HEALTHY", {"reason": "RATE"}, {}),
        (False, "HEALTHY", None, {"inFlight": 8, "oldestPendingSeconds": 20}),
        (False, "HEALTHY", None, {"inFlight": 8, "drainSeconds": 5}),
        (False, "HEALTHY", None, {"inFlight": 8, "oldestPendingSeconds": None}),
        (False, "FAILING", None, {"inFlight": 8}),
        (False, "DEGRADED", {"reason": "CIRCUIT"}, {"inFlight": 8}),
    ],
)
def test_a_destination_is_late_where_its_queue_does_not_shrink(
    blank: Page, late: bool, state: str, hold: Any, queue: dict[str, Any]
) -> None:
    health = {"state": state, "hold": hold, "queue": {**QUEUE, **queue}}
    assert call(blank, "shared/ui/state.js", "late", health) is late


def test_an_age_that_a_message_does_not_know_stays(blank: Page) -> None:
    rows = [{"destination": {"id": "d"}, "health": {"queue": {"oldestPendingSeconds": 90}}}]
    for pending, age in ((2, 90), (0, None)):
        told = {"destinationId": "d", "queue": {"pending": pending, "oldestPendingSeconds": None}}
        [row] = call(blank, "shared/stream.js", "withHealth", rows, [told])
        assert row["health"]["queue"] == {"pending": pending, "oldestPendingSeconds": age}


def test_a_query_repeats_a_name_for_each_of_its_values(blank: Page) -> None:
    query = {"status": ["PENDING", "RETRYING"], "name": "", "limit": 5}
    found = call(blank, "shared/api.js", "queryOf", query)
    assert found == "?status=PENDING&status=RETRYING&limit=5"


def test_an_outcome_of_the_stream_becomes_a_row(blank: Page) -> None:
    identifier = "01a215c4-d7cd-7000-abd0-e1c3b99d3e0e"
    told = {"id": identifier, "status": "DELIVERED", "attempt": 2}
    rows = [{"id": "other", "status": "PENDING"}]
    found = call(blank, "shared/parts/deliveries.js", "merged", rows, [told])
    assert found["rows"] == rows
    (row,) = found["others"]
    assert row["createdAt"].startswith("2026-11-26T")
    assert (row["attemptCount"], row["status"]) == (2, "DELIVERED")


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


def test_a_change_is_told_by_the_members_that_differ(blank: Page) -> None:
    before = {"concurrency": 8, "schedule": [1, 2], "limit": None}
    after = {"concurrency": 4, "schedule": [1, 2], "limit": None, "timeoutMs": 900}
    found = call(blank, "console/parts/changes.js", "members", "delivery", before, after)
    assert found == [
        {"name": "delivery.concurrency", "from": 8, "to": 4},
        {"name": "delivery.timeoutMs", "from": None, "to": 900},
    ]
