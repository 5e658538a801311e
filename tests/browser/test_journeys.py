"""The operators' tasks in the console, from the first click to the result."""

import re
import time

from playwright.sync_api import Page, Request, expect

from tests.browser.assets import Front
from tests.browser.town import EXACT, Town
from tests.browser.window import Window
from tests.process.house import until
from tests.process.receiver import Answer, always

MINUTE_S = 60


def row(page: Page, text: str) -> None:
    page.locator("tbody tr", has_text=text).first.locator("a.opener").click()


def test_a_read_key_sees_no_control_that_writes(browser: Window, front: Front, town: Town) -> None:
    body = {"name": "reader", "scope": "read", "environment": "DEVELOPMENT"}
    key = town.house.api("POST", "/api-keys", body)["secret"]
    town.house.secrets.append(key)
    with browser.another(front.url) as window:
        window.sign_in(key)
        paths = ("/destinations", "/dlq", "/rules", "/deliveries/{dead}", "/settings", "/replays")
        for path in paths:
            page = window.open(town.filled(path))
            expect(page.get_by_text("Read only")).to_be_visible()
            words = re.compile("^(New|Retry|Discard|Archive|Save|Rotate|Revoke|Switch|Send)")
            expect(page.locator("main").get_by_role("button", name=words)).to_have_count(0)
        forged = (
            "(token) => fetch('/dlq/retry', {method: 'POST', body: '{}', headers: {"
            "authorization: `Bearer ${token}`, 'content-type': 'application/json'}})"
            ".then((answer) => answer.status)"
        )
        assert window.page.evaluate(forged, key) == 403
        window.search()


def test_a_revoked_key_ends_the_session_over_the_kept_page(
    browser: Window, front: Front, town: Town
) -> None:
    body = {"name": "short-lived", "scope": "manage", "environment": "DEVELOPMENT"}
    key = town.house.api("POST", "/api-keys", body)
    town.house.secrets.append(key["secret"])
    with browser.another(front.url) as window:
        window.sign_in(key["secret"])
        page = window.open(town.filled("/destinations/{Warehouse}/settings"))
        page.get_by_label("Description").fill("A draft")
        town.house.api("DELETE", f"/api-keys/{key['id']}")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_role("dialog", name="Sign in").wait_for()
        page.get_by_label("API key").fill(town.house.key)
        page.keyboard.press("Enter")
        expect(page.get_by_role("dialog", name="Sign in")).to_have_count(0)
        expect(page.get_by_label("Description")).to_have_value("A draft")
        page.get_by_role("button", name="Save", exact=True).click()
        page.get_by_text("Saved. It applies from the next attempt on.").wait_for()


def test_a_list_goes_on_when_its_reader_has_signed_in_again(
    browser: Window, front: Front, town: Town
) -> None:
    body = {"name": "shorter-lived", "scope": "read", "environment": "DEVELOPMENT"}
    key = town.house.api("POST", "/api-keys", body)
    town.house.secrets.append(key["secret"])
    with browser.another(front.url) as window:
        window.sign_in(key["secret"])
        page = window.open("/deliveries")
        live = page.locator(".live")
        expect(live).to_have_text("Live")
        town.house.api("DELETE", f"/api-keys/{key['id']}")
        page.get_by_label("State").select_option("FAILED")
        page.get_by_role("dialog", name="Sign in").wait_for()
        expect(page.locator("table[aria-busy=true] tbody tr").first).to_be_visible()
        page.get_by_label("API key").fill(town.house.key)
        page.keyboard.press("Enter")
        failed = re.compile("Dead letter|Discarded|Failed")
        expect(page.locator("tbody tr .state").first).to_have_text(failed)
        expect(live).to_have_text("Live")
        assert page.url.endswith("/deliveries?status=FAILED")


def test_escape_goes_back_to_the_row_and_the_filters(window: Window) -> None:
    page = window.open("/deliveries?status=DELIVERED")
    present = "document.activeElement.dataset.row"
    page.keyboard.press("j")
    page.keyboard.press("j")
    second = page.evaluate(present)
    page.keyboard.press("Control+ArrowDown")
    assert page.evaluate(present) == second
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(present) == second
    page.keyboard.press("ArrowDown")
    chosen = page.evaluate(present)
    assert chosen != second
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Timeline").wait_for()
    page.keyboard.press("Escape")
    page.get_by_role("heading", name="Deliveries", level=1).wait_for()
    page.wait_for_selector(f'[data-row="{chosen}"]:focus')
    assert page.url.endswith("/deliveries?status=DELIVERED")


def test_an_event_without_a_match_names_the_rule_and_what_its_filter_read(
    window: Window, town: Town
) -> None:
    rule = {
        "name": "Only gold",
        "destinationId": town.ids["Billing"],
        "eventTypes": ["lone.one"],
        "filter": "event.payload.tier == 'gold'",
    }
    town.house.api("POST", "/routing-rules", rule)
    told = town.house.ask("POST", "/events", {"eventType": "lone.one", "payload": {"tier": "tin"}})
    page = window.open(f"/events/{told.body['id']}")
    expect(page.get_by_text("No destination got this event.")).to_be_visible()
    expect(page.get_by_text("its filter is false")).to_be_visible()
    expect(page.locator("dt", has_text="event.payload.tier")).to_be_visible()
    expect(page.locator("dd", has_text='"tin"')).to_be_visible()


def test_a_payload_is_shown_and_copied_with_its_bytes(window: Window, town: Town) -> None:
    payload = f'{{"n": {EXACT}, "n": 1.0, "x": "<img src=x onerror=alert(1)>"}}'
    body = f'{{"eventType": "order.exact", "payload": {payload}}}'
    window.page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    posted = window.page.evaluate(
        "([body, key]) => fetch('/events', {method: 'POST', body, headers: {"
        "authorization: `Bearer ${key}`, 'content-type': 'application/json'}})"
        ".then((answer) => answer.json())",
        [body, town.house.key],
    )
    page = window.open(f"/events/{posted['id']}")
    shown = page.locator("pre.payload").first.inner_text()
    assert str(EXACT) in shown
    assert "<img src=x onerror=alert(1)>" in shown
    assert shown.count('"n"') == 2
    page.get_by_label("Copy the exact text").first.click()
    until(lambda: page.evaluate("navigator.clipboard.readText()") == payload, "it is copied")


def test_the_slider_of_pulse_changes_the_concurrency_and_can_be_undone(
    timed: Window, town: Town
) -> None:
    path = f"/destinations/{town.ids['Search index']}"
    timed.page.clock.install()
    page = timed.open("/pulse?name=Search")
    with page.expect_response(lambda answer: "sort=age" in answer.url):
        page.get_by_label("Order").select_option("Longest wait first")
    timed.settled()
    slider = page.get_by_label("Concurrency of Search index", exact=True)
    slider.focus()
    patches: list[Request] = []
    page.on("request", lambda sent: patches.append(sent) if sent.method == "PATCH" else None)
    page.clock.pause_at(time.time() + MINUTE_S)  # the keys follow quickly, even on a slow machine
    for key in ("ArrowRight", "ArrowRight", "End"):
        page.keyboard.press(key)
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.clock.resume()
    expect(page.get_by_text("Search index: concurrency 256")).to_be_visible()
    assert len(patches) == 1, "each step was sent"
    assert town.house.api("GET", path)["delivery"]["concurrency"] == 256
    with page.expect_response(lambda answer: answer.request.method == "PATCH"):
        page.get_by_role("button", name="Undo").click()
    expect(slider).to_have_attribute("aria-valuetext", "1")
    assert town.house.api("GET", path)["delivery"]["concurrency"] == 1
    log = town.house.api("GET", f"/audit-logs?objectId={town.ids['Search index']}&limit=2")
    assert [each["action"] for each in log["items"]] == ["destination.update"] * 2


def test_triage_retries_ten_and_then_the_rest(window: Window, town: Town) -> None:
    town.destination("Teapot", "/triage", ["tea.*"], delivery={"retrySchedule": []})
    # A failing script opens no circuit, so no delivery waits for a probe.
    source = 'function transform(event) { throw new Error("I am a teapot"); }'
    script = {"destinationId": town.ids["Teapot"], "name": "Teapot", "source": source}
    made = town.house.api("POST", "/transform-scripts", script)["id"]
    town.house.api("POST", f"/transform-scripts/{made}/publish", {})
    for number in range(14):
        town.house.post(str(number), kind="tea.hot")
    page = window.open(f"/dlq?destinationId={town.ids['Teapot']}")
    page.locator(".cause .value", has_text="14").wait_for()
    town.house.api("POST", f"/transform-scripts/{made}/unpublish", {})
    page.locator(".cause").get_by_role("button", name="Retry").click()
    page.get_by_role("button", name="Retry 10, and watch").click()
    page.get_by_text("10 delivered").wait_for()
    page.get_by_role("button", name="Retry the other 4").click()
    page.get_by_text("No dead letter matches.").wait_for()
    expect(page.locator(".live")).to_have_text("Live")  # although the panel's stream has ended
    assert len(town.receiver.firsts("/triage")) == 14


def test_a_replay_is_counted_started_and_followed_to_its_end(window: Window, town: Town) -> None:
    page = window.open("/replays?new=1")
    page.get_by_role("dialog").get_by_label("Destination").select_option(label="Warehouse")
    page.get_by_label("With the status").select_option("DELIVERED")
    page.get_by_role("button", name="Count first").click()
    told = page.get_by_role("status").filter(has_text="would be sent again")
    expect(told.locator("dt", has_text="Warehouse")).to_be_visible()
    expect(told.locator("dt", has_text="order.paid")).to_be_visible()
    window.shoot("replay-preview")
    start = page.get_by_role("button", name=re.compile("^Start "))
    expect(start).to_be_in_viewport()
    start.click()
    page.get_by_role("heading", name="Replay", exact=True).wait_for()
    expect(page.locator("main").get_by_text("Completed")).to_be_visible()


def test_a_delivery_is_sent_again_to_its_destination_alone(window: Window, town: Town) -> None:
    page = window.open(f"/deliveries/{town.first('/deliveries?status=DELIVERED')}")
    page.get_by_role("button", name="Send again").click()
    page.get_by_role("heading", name="Replay", exact=True).wait_for()
    expect(page.locator("main").get_by_text("1 picked delivery")).to_be_visible()


def test_a_destination_is_made_and_tried_by_the_keyboard_alone(window: Window, town: Town) -> None:
    page = window.open("/destinations")
    keyboard = page.keyboard
    keyboard.press("n")
    page.get_by_role("dialog").wait_for()
    for text in ("Made by keys", town.receiver.url + "/keys", "keys.*"):
        keyboard.type(text)  # replaces the field's proposal, which Tab selects
        keyboard.press("Tab")
    keyboard.press("Enter")
    page.get_by_text("Made by keys is ready.").wait_for()
    assert page.get_by_role("dialog").locator("code").inner_text().startswith("whsec_")
    window.tab_to(page.get_by_role("button", name="Open it"))
    keyboard.press("Enter")
    page.get_by_role("heading", name="Made by keys", level=1).wait_for()
    window.tab_to(page.get_by_role("button", name="Send a sample"))
    keyboard.press("Enter")
    page.get_by_role("dialog").get_by_text("200").wait_for()
    assert len(town.receiver.arrivals("/keys")) == 1
    (rule,) = town.house.api("GET", f"/routing-rules?destinationId={page.url.rpartition('/')[2]}")[
        "items"
    ]
    assert rule["eventTypes"] == ["keys.*"]


def test_a_lost_connection_is_told_and_mended(browser: Window, town: Town) -> None:
    upstream = ("127.0.0.1", town.house.port)
    front = Front(upstream)
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        page = window.open("/deliveries?status=DELIVERED")
        live = page.locator(".live")
        expect(live).to_have_text("Live")
        front.cut()
        expect(live).to_have_text("Connection lost")
        expect(page.locator("tbody tr").first).to_be_visible()
        page.get_by_label("State").select_option("FAILED")
        page.get_by_text("The server does not answer.").wait_for()
        front.upstream = upstream
        expect(live).to_have_text("Live")
        expect(page.locator("tbody tr").first).to_be_visible()
        window.settled()
        rows = [each.get_attribute("data-row") for each in page.locator("a.opener").all()]
        assert len(rows) == len(set(rows))
    front.close()


def test_a_paused_page_asks_for_nothing(window: Window, town: Town) -> None:
    page = window.open("/deliveries")
    expect(page.locator(".live")).to_have_text("Live")
    page.keyboard.press("p")
    expect(page.locator(".live")).to_have_text("Page frozen")
    before = window.asked()
    town.house.post("while-paused", kind="order.paid")
    page.evaluate("document.dispatchEvent(new Event('visibilitychange'))")
    page.get_by_role("button", name="Unfreeze page").focus()
    assert window.asked() == before


def test_the_lanes_name_the_head_and_who_waits_behind_it(window: Window, town: Town) -> None:
    town.receiver.behave("/lanes", always(Answer(500)))
    town.destination("Ordered", "/lanes", ["lane.*"], delivery={"ordering": "KEY"})
    for number in range(4):
        town.house.post(str(number), lane="globex", kind="lane.one")
    page = window.open(f"/destinations/{town.ids['Ordered']}/lanes")
    lane = page.locator("tbody tr", has_text="globex")
    expect(lane).to_contain_text("3 behind")


def test_a_signature_is_checked_without_any_request(window: Window) -> None:
    page = window.open("/signatures")
    before = window.asked()
    page.get_by_label("Body, as it was received").fill('{"a":1}')
    headers = "webhook-id: 1\nwebhook-timestamp: 2\nwebhook-signature: v1,x"
    page.get_by_label("Headers, as they were received").fill(headers)
    page.get_by_label("Signing secret").fill("whsec_aGVsbG8=")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("The signature does not match.").wait_for()
    page.get_by_text("It was shown once, when it was created.").wait_for()
    page.get_by_label("Headers, as they were received").fill("host: example.com")
    page.get_by_role("button", name="Check").click()
    page.get_by_text("missing: webhook-id, webhook-timestamp, webhook-signature").wait_for()
    assert window.overflow() <= 0
    assert window.asked() == before


def test_the_search_finds_by_id_and_by_the_beginning_of_a_name(window: Window, town: Town) -> None:
    page = window.open("/settings")
    page.keyboard.press("/")
    page.get_by_role("searchbox").fill(town.ids["dead"])
    page.get_by_role("dialog").get_by_role("link", name="Delivery").wait_for()
    page.get_by_role("searchbox").fill("acme-1")
    page.get_by_role("dialog").get_by_role("link", name="acme-1").wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="acme-1", level=1).wait_for()


def test_all_that_waits_and_matches_is_counted_and_cancelled_by_a_job(
    window: Window, town: Town
) -> None:
    town.receiver.behave("/stuck", always(Answer(500)))
    made = town.destination("Stuck", "/stuck", ["stuck.*"], delivery={"retrySchedule": [600]})
    town.house.api("POST", f"/destinations/{made}/disable", {})
    for number in range(5):
        town.house.post(str(number), kind="stuck.here")
    page = window.open(f"/deliveries?destinationId={made}&status=PENDING")
    expect(page.locator("tbody tr")).to_have_count(5)
    page.get_by_role("button", name="Cancel all that match").click()
    page.get_by_role("dialog").get_by_text("5 deliveries would never be sent.").wait_for()
    page = window.open(f"/deliveries?destinationId={made}")
    page.get_by_role("button", name="Cancel all that wait").click()
    page.get_by_role("dialog").get_by_text("5 deliveries would never be sent.").wait_for()
    expect(page.get_by_role("dialog").get_by_text("switch the destination off")).to_be_visible()
    page.get_by_role("dialog").get_by_role("button", name="Cancel 5").click()
    page.get_by_role("heading", name="Cancelling waiting deliveries").wait_for()
    expect(page.locator("main").get_by_text("Completed").first).to_be_visible()
    assert town.first(f"/deliveries?destinationId={made}&status=PENDING") is None


def test_events_that_a_destination_lacks_are_replayed(window: Window, town: Town) -> None:
    for number in range(3):
        town.house.post(str(number), kind="lacking.one")
    town.destination("Lacking", "/lacking", ["lacking.*"])
    page = window.open("/replays?new=1")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What").select_option("MISSING")
    dialog.get_by_label("Destination").select_option(label="Lacking")
    dialog.get_by_role("button", name="Count first").click()
    page.get_by_role("button", name="Start 3").click()
    town.receiver.wait_count("/lacking", 3)


def test_a_destination_leads_to_its_changes(window: Window, town: Town) -> None:
    made = town.destination("Renamed", "/renamed", ["renamed.*"])
    town.house.api("PATCH", f"/destinations/{made}", {"name": "Renamed twice"})
    page = window.open(f"/destinations/{made}")
    page.get_by_role("link", name="Who changed it?").click()
    page.get_by_role("heading", name="Audit log", level=1).wait_for()
    entries = page.locator(".entry")
    expect(entries).to_have_count(2)
    expect(entries.first).to_contain_text("Destination changed")


def test_a_destination_gets_a_password_that_is_not_shown_again(window: Window, town: Town) -> None:
    made = town.destination("Guarded", "/guarded", ["guarded.*"])
    page = window.open(f"/destinations/{made}/settings")
    page.get_by_label("In addition to the signature").select_option("BASIC")
    page.get_by_label("User").fill("angarium")
    page.get_by_label("Password").fill("correct horse")
    page.get_by_role("button", name="Save the authentication").click()
    page.get_by_text("Saved. It applies from the next attempt on.").wait_for()
    expect(page.get_by_label("Password")).to_have_value("***")
    page.get_by_label("Method").select_option("PUT")
    page.get_by_label("Switch off after, seconds").fill("3600")
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as saved:
        page.get_by_role("button", name="Save", exact=True).click()
    assert saved.value.ok
    told = town.house.api("GET", f"/destinations/{made}")
    assert (told["method"], told["disableAfterSeconds"]) == ("PUT", 3600)
    assert told["authentication"]["username"] == "angarium"
