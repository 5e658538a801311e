"""The questions of operators and support, and the console's answers to them."""

import re

from playwright.sync_api import expect

from tests.browser.assets import Front
from tests.browser.town import Town
from tests.browser.window import NARROW, Window
from tests.process.house import until
from tests.process.receiver import Answer, always, failing

ONCE: dict[str, object] = {"retrySchedule": []}


def publish(town: Town, destination: str, source: str) -> None:
    script = {"destinationId": destination, "name": "Script", "source": source}
    made = town.house.api("POST", "/transform-scripts", script)["id"]
    town.house.api("POST", f"/transform-scripts/{made}/publish", {})


def delivered(town: Town, destination: str) -> None:
    until(lambda: town.house.deliveries(destination, status="DELIVERED"), "it is delivered")


def test_a_late_destination_says_so_and_its_concurrency_is_raised(
    window: Window, town: Town
) -> None:
    made = town.destination("Tardy", "/tardy", ["tardy.*"], delivery={"concurrency": 1})
    health = town.house.health(made)
    health["state"] = "HEALTHY"
    health["queue"] |= {
        "pending": 40,
        "inFlight": 1,
        "oldestPendingSeconds": 61.0,
        "drainSeconds": None,
        "suggestedConcurrency": 8,
    }
    page = window.page
    page.route(f"**/destinations/{made}/health", lambda route: route.fulfill(json=health))
    page.route("**/stream?**", lambda route: route.abort())
    page.goto(f"{window.url}/console/dev/destinations/{made}")
    page.get_by_text(
        "This destination is late: its oldest delivery has waited 1 min 1 s."
    ).wait_for()
    page.get_by_role("button", name="Raise the concurrency to 8").click()
    page.get_by_text("Tardy: concurrency 8").wait_for()
    assert town.house.api("GET", f"/destinations/{made}")["delivery"]["concurrency"] == 8
    page.unroute_all(behavior="ignoreErrors")


def test_a_delivery_says_what_a_script_changed(window: Window, town: Town) -> None:
    made = town.destination("Shaped", "/shaped", ["shaped.*"])
    kept = town.destination("Kept", "/kept", ["shaped.*"])
    source = "function transform(event) { return {...event, data: {shop: 'north'}}; }"
    publish(town, made, source)
    town.house.post("1", kind="shaped.one")
    for each in (made, kept):
        delivered(town, each)
    page = window.open(f"/deliveries/{town.house.deliveries(made)[0]['id']}")
    page.get_by_text("Version 1 of the script changed the payload.").wait_for()
    expect(page.locator(".payload .added", has_text='"shop": "north"')).to_be_visible()
    page = window.open(f"/deliveries/{town.house.deliveries(kept)[0]['id']}")
    page.get_by_text("No script changed the payload.").wait_for()
    page = window.open("/destinations?name=Shaped")
    expect(page.locator("tbody tr")).to_contain_text("Script")


def test_a_customers_page_says_what_it_got_last(window: Window, town: Town) -> None:
    town.receiver.behave("/lost", always(Answer(500)))
    body = {
        "name": "Lost and found",
        "url": town.receiver.url + "/lost",
        "customerExternalId": "lost & found",
        "delivery": ONCE,
    }
    made = town.house.api("POST", "/destinations", body)
    town.house.secrets.append(made["secret"])
    rule = {"name": "Lost", "destinationId": made["id"], "eventTypes": ["lost.*"]}
    town.house.api("POST", "/routing-rules", rule)
    town.house.post("1", lane="lost & found", kind="lost.one")
    town.house.post("2", lane="lost & found", kind="unheard.one")
    until(lambda: town.house.deliveries(made["id"], dlqStatus="IN_DLQ"), "it is dead")
    page = window.open("/customers?prefix=lost")
    expect(page.locator("tbody tr")).to_contain_text(re.compile("Failing|Degraded"))
    page.locator("tbody a.opener").click()
    page.get_by_role("heading", name="lost & found", level=1).wait_for()
    owned = page.get_by_role("table", name="Destinations").locator("tbody tr")
    expect(owned).to_have_count(1)
    expect(owned).to_contain_text("the receiver answered 500")
    got = page.get_by_role("table", name="Last deliveries, including waiting ones").locator(
        "tbody tr"
    )
    expect(got).to_contain_text(["Lost and found"])
    expect(got).to_contain_text(["Dead letter"])
    events = page.get_by_role("table", name="Its last events").locator("tbody tr")
    expect(events.filter(has_text="unheard.one")).to_contain_text("none")
    page.locator(".panel").get_by_role("link", name="Analytics").click()
    page.get_by_role("heading", name="Analytics", level=1).wait_for()
    busiest = page.get_by_role("table", name="Most attempts").locator("tbody tr")
    expect(busiest).to_have_count(1)
    expect(busiest).to_contain_text("Lost and found")
    busiest.locator("a.opener").click()
    page.get_by_role("heading", name="Lost and found", level=1).wait_for()
    page.get_by_role("heading", name="Causes of failures").wait_for()


def test_the_failed_delivery_of_an_event_is_seen_and_sent_again_alone(
    window: Window, town: Town
) -> None:
    town.receiver.behave("/refusing", failing(1, 500))
    refusing = town.destination("Refusing", "/refusing", ["split.*"], delivery=ONCE)
    town.destination("Taking", "/taking", ["split.*"], delivery=ONCE)
    town.house.post("1", kind="split.one")
    until(lambda: town.house.deliveries(refusing, dlqStatus="IN_DLQ"), "one is dead")
    town.receiver.wait_count("/taking", 1)
    page = window.open("/events?eventType=split.one")
    expect(page.locator("tbody tr")).to_contain_text("1 failed")
    page.locator("tbody a.opener").click()
    page.get_by_role("button", name="Check every rule").click()
    rule = page.locator(".rules > li", has_text="To Refusing")
    expect(rule).to_contain_text("Dead letter")
    expect(rule).to_contain_text("500")
    sent = page.get_by_role("table", name="Deliveries").locator("tbody tr", has_text="Refusing")
    sent.get_by_role("button", name="Send again").click()
    town.receiver.wait_count("/refusing", 2)
    assert len(town.receiver.arrivals("/taking")) == 1
    rule.get_by_role("link", name="Open the delivery").click()
    page.get_by_role("heading", name="split.one → Refusing").wait_for()


def test_the_checker_has_the_request_of_the_delivery_that_the_reader_comes_from(
    window: Window, town: Town
) -> None:
    made = town.destination("Signed", "/signed", ["signed.*"], delivery=ONCE)
    town.house.post("1", kind="signed.one")
    until(lambda: town.house.deliveries(made, status="DELIVERED"), "it is delivered")
    (delivery,) = town.house.deliveries(made)
    page = window.open(f"/signatures?delivery={delivery['id']}")
    expect(page.get_by_label("Body, as")).to_have_value(re.compile('"type":"signed.one"'))
    headers = page.get_by_label("Headers, as")
    expect(headers).to_have_value(re.compile("webhook-timestamp: [0-9]+\nwebhook-signature: $"))
    headers.fill(headers.input_value() + "v1,x")
    page.get_by_label("Signing secret").fill("whsec_c2VjcmV0")
    page.get_by_role("button", name="Check", exact=True).click()
    page.get_by_text("The body is the one that was sent").wait_for()


def test_picked_dead_letters_are_retried_alone(window: Window, town: Town) -> None:
    made = town.destination("Picked", "/picked", ["picked.*"], delivery=ONCE)
    publish(town, made, "function transform(event) { throw new Error('no'); }")
    town.house.post("1", "2", "3", kind="picked.one")
    dead = f"/dlq?destinationId={made}"
    until(lambda: len(town.house.api("GET", dead)["items"]) == 3, "all are dead")
    (script,) = town.house.api("GET", f"/destinations/{made}/transform-scripts")["items"]
    town.house.api("POST", f"/transform-scripts/{script['id']}/unpublish", {})
    page = window.open(f"/dlq?destinationId={made}")
    page.get_by_role("link", name="List them").click()
    page.wait_for_url(re.compile("signature="))
    rows = page.locator("tbody tr")
    expect(rows).to_have_count(3)
    for number in (0, 1):
        rows.nth(number).get_by_role("checkbox").check()
    page.get_by_role("button", name="Retry 2").click()
    expect(rows).to_have_count(1)
    town.receiver.wait_count("/picked", 2)


def test_picked_destinations_are_switched_off_and_on_again(window: Window, town: Town) -> None:
    made = [town.destination(f"Switch {each}", "/switch", ["switch.*"]) for each in ("A", "B")]
    page = window.open("/destinations?name=Switch")
    rows = page.locator("tbody tr")
    for name, status in (
        ("Switch off 2 destinations", "DISABLED"),
        ("Switch on 2 destinations", "ACTIVE"),
    ):
        expect(rows).to_have_count(2)
        for number in (0, 1):
            rows.nth(number).get_by_role("checkbox").check()
        page.get_by_role("button", name=name).click()
        expect(page.get_by_role("group", name="Picked")).to_have_count(0)
        for each in made:
            assert town.house.api("GET", f"/destinations/{each}")["status"] == status


def test_an_event_is_sent_again_to_all_that_got_it(window: Window, town: Town) -> None:
    made = [town.destination(name, name, ["again.*"]) for name in ("/again/a", "/again/b")]
    (event,) = town.house.post("1", kind="again.one")
    for each in made:
        delivered(town, each)
    page = window.open(f"/events/{event}")
    page.get_by_role("button", name="Send again to 2 destinations").click()
    page.get_by_text("The replay has begun.").wait_for()
    for name in ("/again/a", "/again/b"):
        town.receiver.wait_count(name, 2)


def test_all_that_waits_is_one_state_of_the_list(window: Window, town: Town) -> None:
    town.receiver.behave("/both", always(Answer(500)))
    made = town.destination("Both", "/both", ["both.*"], delivery={"retrySchedule": [600]})
    town.house.post("1", kind="both.one")
    until(lambda: town.house.deliveries(made, status="RETRYING"), "one is retried")
    town.house.api("POST", f"/destinations/{made}/disable", {})
    town.house.post("2", kind="both.two")
    page = window.open(f"/deliveries?destinationId={made}&status=PENDING,RETRYING")
    expect(page.get_by_label("State")).to_have_value("PENDING,RETRYING")
    expect(page.locator("tbody tr")).to_have_count(2)
    expect(page.get_by_role("button", name="Retry all that wait")).to_be_visible()
    page.get_by_label("State").select_option("RETRYING,FAILED")
    # A disabled destination's retries are pending.
    page.get_by_text("No delivery matches.").wait_for()
    expect(page.get_by_role("button", name="Retry all that wait")).to_have_count(0)


def test_the_last_changes_fit_a_telephone(browser: Window, front: Front, town: Town) -> None:
    change = town.house.api("GET", "/audit-logs?limit=1")["items"][0]
    change |= {"action": "transform_script.unpublish", "changes": {"name": {"to": "long " * 50}}}
    with browser.another(front.url, NARROW, locale="de-DE") as window:
        window.sign_in(town.house.key)
        found = {"items": [change], "nextCursor": None}
        window.page.route("**/audit-logs?**", lambda route: route.fulfill(json=found))
        page = window.open("")
        changes = page.locator(".panel", has=page.get_by_role("heading", name="Letzte Änderungen"))
        expect(changes.locator("tbody tr")).to_contain_text("Skript zurückgezogen")
        assert window.overflow() <= 0
        page.unroute_all(behavior="ignoreErrors")
