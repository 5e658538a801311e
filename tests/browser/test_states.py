"""Rare states: nothing, too much, a busy server, an open circuit, a rare match."""

import json
import re
import time
from collections.abc import Iterator
from typing import Any

import pytest
from playwright.sync_api import Page, Route, expect

from tests.browser.assets import Front
from tests.browser.town import MARKUP, Town
from tests.browser.window import Window
from tests.process.house import until
from tests.process.receiver import Answer, always

LIST = re.compile(r"^http://[^/]+/deliveries\?")  # the API, not the page
GROUPS = re.compile(r"^http://[^/]+/dlq/groups\?")
PAYLOAD_BYTES = 256 * 1024


@pytest.fixture(scope="module")
def elsewhere(town: Town) -> str:
    key = town.house.workspace("Elsewhere")
    town.house.secrets.append(key)
    return key


@pytest.fixture
def empty(browser: Window, front: Front, elsewhere: str) -> Iterator[Window]:
    with browser.another(front.url) as window:
        window.sign_in(elsewhere)
        yield window
        window.search()


def test_an_empty_workspace_names_the_next_step(empty: Window) -> None:
    page = empty.open("")
    page.get_by_text("Nothing has been delivered yet.").wait_for()
    expect(page.locator(".command")).to_have_count(4)
    for path, step in (
        ("/destinations", "New destination"),
        ("/events", "Send an event"),
        ("/rules", "New rule"),
        ("/schemas", "Infer a schema"),
        ("/deliveries", "Send an event"),
    ):
        empty.open(path)
        expect(page.locator("main").get_by_text(step).first).to_be_visible()


def test_a_rare_match_is_searched_for_and_the_search_can_be_stopped(
    window: Window, town: Town
) -> None:
    cursor = town.house.api("GET", "/deliveries?limit=1")["nextCursor"]
    nothing = {"items": [], "nextCursor": cursor, "searchedTo": "2026-01-02T03:04:05.000Z"}
    held: list[Route] = []

    def answer(route: Route) -> None:
        """Answer the first request with no items. The API answers so if it has searched some of the rows
        and none of them matches. Hold the requests for further rows.
        """
        if "cursor=" in route.request.url:
            held.append(route)
        else:
            route.fulfill(json=nothing)

    page = window.page
    page.route(LIST, answer)
    page.goto(f"{window.url}/console/dev/deliveries?status=DELIVERED")
    status = page.locator(".more")
    expect(status).to_contain_text("Searched back to")
    page.get_by_role("button", name="Stop").click()
    page.get_by_text("No delivery matches.").wait_for()
    page.unroute(LIST, answer)
    page.get_by_role("button", name="Search further").click()
    page.locator("tbody tr").first.wait_for()
    assert len(held) == 1


def test_causes_that_were_cut_say_how_far_back_they_were_counted(window: Window) -> None:
    cut: dict[str, Any] = {
        "items": [],
        "nextCursor": None,
        "searchedTo": "2026-01-02T03:04:05.000Z",
    }
    page = window.page
    page.route(GROUPS, lambda route: route.fulfill(json=cut))
    page.goto(f"{window.url}/console/dev/dlq?eventType=order.created")
    expect(page.locator(".more")).to_contain_text("Searched back to")
    expect(page.locator(".more")).not_to_contain_text("That is all.")
    page.unroute(GROUPS)


def test_triage_watches_the_retried_deliveries_alone(window: Window, town: Town) -> None:
    made = town.destination("Watched", "/watched", ["watched.*"], delivery={"retrySchedule": []})
    source = 'function transform(event) { throw new Error("watch out"); }'
    script = {"destinationId": made, "name": "Watched", "source": source}
    identifier = town.house.api("POST", "/transform-scripts", script)["id"]
    town.house.api("POST", f"/transform-scripts/{identifier}/publish", {})
    town.house.post(*map(str, range(11)), kind="watched.one")
    dead = f"/dlq?destinationId={made}"
    until(lambda: len(town.house.api("GET", dead)["items"]) == 11, "all are dead")
    town.house.api("POST", f"/transform-scripts/{identifier}/unpublish", {})
    held: list[Route] = []
    page = window.page
    page.route("**/stream?topics=deliveries%2Chealth&**", lambda route: held.append(route))
    page.goto(f"{window.url}/console/dev/dlq?destinationId={made}")
    page.locator(".cause").get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Retry 10, and watch").click()
    page.get_by_text("10 retried").wait_for()
    until(lambda: len(town.house.deliveries(made, status="DELIVERED")) == 10, "ten are delivered")
    mine = [each["id"] for each in town.house.deliveries(made, status="DELIVERED")]
    other = town.first("/deliveries?status=DELIVERED&eventType=order.paid")
    items = [{"id": each, "status": "DELIVERED"} for each in (*mine, other)]
    told = f"event: deliveries\ndata: {json.dumps({'items': items, 'omitted': 0})}\n\n"
    window.until(lambda: held, "the page asks for a stream")
    held[0].fulfill(headers={"content-type": "text/event-stream"}, body=told)
    page.get_by_text("10 delivered").wait_for()
    page.get_by_role("button", name="Retry the other 1").wait_for()
    page.unroute("**/stream?topics=deliveries%2Chealth&**")


def test_a_list_without_a_stream_keeps_what_was_loaded_besides(timed: Window, town: Town) -> None:
    made = town.destination("Long list", "/long-list", ["listed.*"])
    town.house.post_batch(map(str, range(120)), kind="listed.one")
    until(lambda: len(town.house.deliveries(made, status="DELIVERED")) == 100, "they are delivered")
    page = timed.page
    page.clock.install()
    refusal = {"code": "rate_limited", "message": "all places of the stream are taken"}
    page.route("**/stream?**", lambda route: route.fulfill(status=429, json=refusal))
    page.goto(f"{timed.url}/console/dev/deliveries?destinationId={made}")
    for rows in (50, 100):
        expect(page.locator("tbody tr")).to_have_count(rows)
        page.get_by_role("button", name="Load more").click()
    expect(page.locator("tbody tr")).to_have_count(120)
    (event,) = town.house.post("new", kind="listed.two")
    until(lambda: town.house.api("GET", f"/events/{event}/deliveries")["items"], "it is there")
    page.clock.fast_forward("00:05")
    page.locator("tbody tr", has_text="listed.two").wait_for()
    expect(page.locator("tbody tr")).to_have_count(121)
    page.unroute("**/stream?**")


def test_filters_show_the_same_list_elsewhere(window: Window, browser: Window, town: Town) -> None:
    # This test uses deliveries that never change, because both pages must show the same list. Deliveries
    # of other tests can still fail at any time.
    made = town.destination("Filtered", "/filtered", ["filtered.*"], delivery={"retrySchedule": []})
    town.receiver.behave("/filtered", lambda n, before: Answer(500 if int(n) < 3 else 200))
    town.house.post(*map(str, range(5)), kind="filtered.one")
    ends = ["DELIVERED"] * 2 + ["FAILED"] * 3
    until(lambda: sorted(each["status"] for each in town.house.deliveries(made)) == ends, "all end")
    page = window.open("/deliveries")
    page.get_by_label("State").select_option("FAILED")
    page.get_by_label("Event type").fill("filtered.one")
    expect(page).to_have_url(re.compile("eventType=filtered.one"))

    def rows(shown: Page) -> list[str]:
        expect(shown.locator("tbody tr")).to_have_count(3)
        return [each.get_attribute("data-row") or "" for each in shown.locator("a.opener").all()]

    found = rows(page)
    assert len(set(found)) == 3
    with browser.another(window.url) as other:
        other.sign_in(town.house.key)
        other.page.goto(page.url)
        expect(other.page.get_by_label("State")).to_have_value("FAILED")
        assert rows(other.page) == found


def test_an_open_circuit_counts_down_to_its_probe(window: Window, town: Town) -> None:
    town.receiver.behave("/tripping", always(Answer(500)))
    town.destination("Tripping", "/tripping", ["trip.*"], delivery={"retrySchedule": [600]})
    for number in range(20):
        town.house.post(str(number), kind="trip.now")
    page = window.open(f"/destinations/{town.ids['Tripping']}")
    hold = page.get_by_text(re.compile(r"Circuit open, next probe in \d+ s"))
    hold.first.wait_for()
    expect(page.locator("main").get_by_text("Failing").first).to_be_visible()
    expect(page.get_by_text("8 once the circuit closes")).to_be_visible()
    stop = page.get_by_role("link", name="See its deliveries: cancel or retry them there")
    whole = re.compile(rf"/deliveries\?destinationId={town.ids['Tripping']}$")
    expect(stop).to_have_attribute("href", whole)
    dead = re.compile(rf"/dlq\?destinationId={town.ids['Tripping']}$")
    expect(page.get_by_role("link", name="Its dead letters")).to_have_attribute("href", dead)
    page = window.open("/destinations?name=Tripping")
    expect(page.locator("thead").get_by_text("Last error, or address")).to_be_visible()
    expect(page.locator("tbody tr")).to_contain_text("the receiver answered 500")
    expect(page.locator("tbody tr")).to_contain_text(re.compile(r"Failing\s+for\s\d+\s(s|min)"))


def test_an_answer_is_text_whatever_it_holds(window: Window, town: Town) -> None:
    town.receiver.behave("/markup", always(Answer(500, body=MARKUP)))
    town.destination("Markup", "/markup", ["markup.*"], delivery={"retrySchedule": []})
    (event,) = town.house.post("1", kind="markup.sent")
    page = window.open(f"/events/{event}")
    page.locator("tbody a.opener", has_text="Markup").click()
    expect(page.locator("pre.payload", has_text=MARKUP).first).to_be_visible()
    expect(page.locator("main img")).to_have_count(0)


def test_a_payload_of_256_kib_is_shown_and_copied_whole(window: Window, town: Town) -> None:
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    text = json.dumps({"text": "ä" * (PAYLOAD_BYTES // 2 - 200)}, ensure_ascii=False)
    body = f'{{"eventType": "large.one", "payload": {text}}}'
    posted = window.page.evaluate(
        "([body, key]) => fetch('/events', {method: 'POST', body, headers: {"
        "authorization: `Bearer ${key}`, 'content-type': 'application/json'}})"
        ".then((answer) => answer.json())",
        [body, town.house.key],
    )
    page = window.open(f"/events/{posted['id']}")
    expect(page.get_by_text(re.compile(r"25\d(\.\d)? KiB"))).to_be_visible()
    page.get_by_label("Copy the exact text").first.click()
    until(lambda: page.evaluate("navigator.clipboard.readText()") == text, "it is copied")
    assert window.overflow() <= 0


def test_a_busy_server_is_waited_for_and_asked_again(timed: Window) -> None:
    refused: list[str] = []

    def refuse(route: Route) -> None:
        if refused:
            route.continue_()
            return
        refused.append(route.request.url)
        body = {"code": "rate_limited", "message": "too many", "requestId": "an-id"}
        route.fulfill(
            status=429,
            headers={"retry-after": "3600", "content-type": "application/json"},
            body=json.dumps(body),
        )

    page = timed.page
    page.clock.install()
    page.route(LIST, refuse)
    page.goto(f"{timed.url}/console/dev/deliveries")
    page.get_by_text("Too many requests.").wait_for()
    expect(page.get_by_text("Trying again in")).to_be_visible()
    expect(page.get_by_text("an-id")).to_be_visible()
    page.clock.fast_forward("01:00:00")
    page.locator("tbody tr").first.wait_for()
    expect(page.get_by_text("Too many requests.")).to_have_count(0)


def test_without_a_place_for_a_stream_the_page_is_loaded_anew_every_five_seconds(
    timed: Window, town: Town
) -> None:
    made = town.destination("Polled", "/polled", ["polled.*"])
    page = timed.page
    page.clock.install()
    refusal = {"code": "rate_limited", "message": "all places of the stream are taken"}
    page.route("**/stream?**", lambda route: route.fulfill(status=429, json=refusal))
    page.goto(f"{timed.url}/console/dev/deliveries?destinationId={made}")
    expect(page.locator(".live")).to_contain_text(re.compile(r"As of \d\d:\d\d:\d\d"))
    page.get_by_text("No delivery matches.").wait_for()
    town.house.post("1", kind="polled.one")
    until(lambda: town.house.deliveries(made, status="DELIVERED"), "it is delivered")
    page.clock.fast_forward("00:05")
    page.locator("tbody tr", has_text="polled.one").wait_for()
    page.unroute("**/stream?**")
    page.clock.fast_forward("00:05")
    expect(page.locator(".live")).to_have_text("Live")


def test_a_proxy_that_does_not_reach_the_service_is_a_connection_lost(window: Window) -> None:
    page = window.page
    page.route("**/stream?**", lambda route: route.fulfill(status=502, body="Bad Gateway"))
    page.goto(f"{window.url}/console/dev/deliveries")
    expect(page.locator(".live")).to_contain_text("Connection lost")
    page.unroute("**/stream?**")


def test_a_flood_is_counted_and_moves_nothing(window: Window) -> None:
    item = {"id": "ffffffff-0000-7000-8000-000000000001", "status": "DELIVERED"}
    told = "".join(
        f"event: deliveries\ndata: {json.dumps({'items': [item], 'omitted': 249})}\n\n"
        for _ in range(4)
    )
    held: list[Route] = []
    page = window.page
    page.route("**/stream?**", lambda route: held.append(route))
    page.goto(f"{window.url}/console/dev/deliveries?status=DELIVERED")
    window.settled()
    before = [each.get_attribute("data-row") for each in page.locator("a.opener").all()]
    window.until(lambda: held, "the page asks for a stream")
    # The stream ends with this answer, and the next stream does not begin.
    held[0].fulfill(headers={"content-type": "text/event-stream"}, body=told)
    page.get_by_role("button", name=re.compile("^1,000 new")).wait_for()
    assert [each.get_attribute("data-row") for each in page.locator("a.opener").all()] == before
    assert before
    page.unroute("**/stream?**")


def test_a_replay_is_cancelled_with_exact_figures(window: Window, town: Town) -> None:
    job = {"destinationId": town.ids["Warehouse"], "from": "2020-01-01T00:00:00Z"}
    made = town.house.api("POST", "/replay-jobs", {**job, "ratePerSecond": 0.001})
    page = window.open(f"/replays/{made['id']}")
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator("main").get_by_text("Cancelled")).to_be_visible()
    told = town.house.api("GET", f"/replay-jobs/{made['id']}")
    shown = page.locator(".figure", has_text="Total").locator(".value").inner_text()
    assert int(shown) == told["total"]
    assert told["enqueued"] < told["total"]


def test_the_keyboard_alone_leads_from_the_login_to_a_retried_dead_letter(
    browser: Window, town: Town
) -> None:
    town.receiver.behave("/keyed", always(Answer(500)))
    town.destination("Keyed", "/keyed", ["keyed.*"], delivery={"retrySchedule": []})
    town.house.post("1", kind="keyed.once")
    with browser.another(town.house.url) as window:
        page, keyboard = window.page, window.page.keyboard
        page.goto(f"{town.house.url}/console")
        window.tab_to(page.get_by_label("API key"))
        keyboard.type(town.house.key)
        keyboard.press("Enter")
        page.get_by_role("heading", name="Overview", level=1).wait_for()
        keyboard.press("Tab")
        expect(page.get_by_role("link", name="To the content")).to_be_focused()
        keyboard.press("Enter")
        # The second key comes in time, even on a slow machine.
        page.clock.set_fixed_time(time.time())
        keyboard.press("g")
        keyboard.press("q")
        page.get_by_role("heading", name="Dead letters", level=1).wait_for()
        window.tab_to(page.get_by_role("link", name="One by one"))
        keyboard.press("Enter")
        window.tab_to(page.get_by_label("Event type"))
        keyboard.type("keyed.once")
        expect(page.locator("tbody tr")).to_have_count(1)
        window.settled()
        keyboard.press("Tab")
        keyboard.press("Tab")  # out of the field, in which letters are text
        keyboard.press("j")
        keyboard.press("Enter")
        page.get_by_role("heading", name=re.compile("keyed.once")).wait_for()
        town.receiver.behave("/keyed", always(Answer()))
        keyboard.press("r")
        page.locator("main").get_by_text("Delivered").first.wait_for()
        assert len(town.receiver.firsts("/keyed")) == 1
        keyboard.press("Escape")
        page.get_by_role("heading", name="Dead letters", level=1).wait_for()
        expect(page.get_by_label("Event type")).to_have_value("keyed.once")
        window.tab_to(page.get_by_role("button", name="Sign out"), "Shift+Tab")
        keyboard.press("Enter")
        page.get_by_label("API key").wait_for()
        window.search()
