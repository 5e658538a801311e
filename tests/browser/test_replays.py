"""A running replay in the console and the portal: its rate is changed, and its failures are shown by
cause.
"""

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.assets import Front
from tests.browser.axe import violations, violations_of_colours
from tests.browser.test_portal import portal
from tests.browser.town import LONG, Town
from tests.browser.window import NARROW, WIDE, Window
from tests.browser.yard import Yard
from tests.process.house import House, until
from tests.process.receiver import Answer, always

SLOW = 0.001  # per second: after the first delivery, the next would come a quarter of an hour later
FIELD = "Rate limit, per second"


def settled(house: House, destination: str, count: int) -> None:
    ends = f"/deliveries?destinationId={destination}&status=DELIVERED&status=FAILED&limit=100"
    until(lambda: len(house.api("GET", ends)["items"]) == count, "all have ended")


def slow_replay(house: House, destination: str) -> str:
    """Start a replay at a rate so slow that only the replay's first delivery is sent. Return when this
    delivery is delivered.

    If a test then sets a higher rate, the next delivery is sent immediately: the wait for the slow rate
    ends.
    """
    body = {"destinationId": destination, "ratePerSecond": SLOW}
    made = str(house.api("POST", "/replay-jobs", body)["id"])
    path = f"/replay-jobs/{made}"
    until(lambda: house.api("GET", path)["delivered"] == 1, "the first delivery is delivered")
    return made


def figure(page: Page, name: str) -> Any:
    return page.locator(".figure", has_text=name).locator(".value")


def test_the_rate_of_a_running_replay_is_changed_and_undone(window: Window, town: Town) -> None:
    made = town.destination("Paced", "/paced", ["paced.*"])
    for number in range(8):
        town.house.post(f"paced-{number}", kind="paced.one")
    settled(town.house, made, 8)
    job = slow_replay(town.house, made)

    def rate() -> Any:
        return town.house.api("GET", f"/replay-jobs/{job}")["ratePerSecond"]

    def changes() -> list[Any]:
        found = town.house.api("GET", f"/audit-logs?objectId={job}&action=replay_job.update")
        return [each["changes"]["ratePerSecond"] for each in found["items"]]

    page = window.open(f"/replays/{job}")
    window.shoot("replay-runs")
    field, press = page.get_by_label(FIELD), page.get_by_role("button", name="Set the rate")
    expect(field).to_have_value(str(SLOW))
    expect(press).to_be_disabled()
    field.fill("0.002")
    press.click()
    page.get_by_role("button", name="Undo").click()
    expect(field).to_have_value(str(SLOW))
    until(lambda: changes() == [{"from": 0.002, "to": SLOW}, {"from": SLOW, "to": 0.002}], "undone")
    town.house.api("PATCH", f"/replay-jobs/{job}", {"ratePerSecond": 0.003})  # as another operator
    expect(field).to_have_value("0.003")
    field.fill("")
    press.press("Enter")
    expect(page.locator(".verdict")).to_contain_text("Completed")
    expect(figure(page, "Delivered")).to_have_text("8")
    expect(field).to_have_count(0)
    assert rate() is None


def test_a_read_key_sees_the_rate_and_cannot_change_it(
    browser: Window, front: Front, town: Town
) -> None:
    made = town.destination("Unpaced", "/unpaced", ["unpaced.*"])
    for number in range(2):
        town.house.post(f"unpaced-{number}", kind="unpaced.one")
    settled(town.house, made, 2)
    job = slow_replay(town.house, made)
    body = {"name": "watcher", "scope": "read", "environment": "DEVELOPMENT"}
    key = town.house.api("POST", "/api-keys", body)["secret"]
    town.house.secrets.append(key)
    with browser.another(front.url) as window:
        window.sign_in(key)
        page = window.open(f"/replays/{job}")
        expect(page.locator("dd", has_text=str(SLOW))).to_be_visible()
        expect(page.locator("main form, main .danger")).to_have_count(0)
        window.search()
    town.house.api("POST", f"/replay-jobs/{job}/cancel", {})


@pytest.mark.parametrize(("size", "locale"), [(WIDE, "en-GB"), (NARROW, "de-DE")])
def test_failures_of_a_replay_are_counted_by_cause_and_lead_to_their_deliveries(
    browser: Window, front: Front, town: Town, size: tuple[int, int], locale: str
) -> None:
    kind = f"cause{size[0]}"
    causes = {500: 2, 404: 1}
    named = {500: f"{kind} {LONG}"[:250].strip(), 404: f"{kind} 404"}
    for status in causes:
        path = f"/{kind}/{status}"
        town.receiver.behave(path, always(Answer(status)))
        once: dict[str, object] = {"retrySchedule": []}
        town.destination(named[status], path, [f"{kind}.of{status}"], delivery=once)
    for status, count in causes.items():
        for number in range(count):
            town.house.post(f"{kind}-{status}-{number}", kind=f"{kind}.of{status}")
        settled(town.house, town.ids[named[status]], count)
    body = {"from": "2020-01-01T00:00:00Z", "eventTypes": [f"{kind}.*"]}
    job = town.house.api("POST", "/replay-jobs", body)["id"]
    until(lambda: town.house.api("GET", f"/replay-jobs/{job}")["failed"] == 3, "all have failed")
    with browser.another(front.url, size, locale=locale) as window:
        window.sign_in(town.house.key)
        page = window.open(f"/replays/{job}")
        rows = page.locator(".rules li")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_contain_text("500")
        expect(rows.nth(0).locator(".bad")).to_have_text("2")
        expect(rows.nth(1)).to_contain_text("404")
        assert window.overflow() <= 0
        window.dress("light")
        assert violations(window) == []
        window.shoot(f"replay-causes-{size[0]}-light")
        window.dress("dark")
        assert violations_of_colours(window) == []
        window.shoot(f"replay-causes-{size[0]}-dark")
        rows.nth(0).locator("a").first.click()
        page.wait_for_url(re.compile(rf"/deliveries\?.*replayJobId={job}"))
        window.settled()
        expect(page.locator("tbody a.opener")).to_have_count(2)
        window.search()


def test_a_customer_follows_and_paces_a_recovery(tabs: Window, yard: Yard) -> None:
    orders = yard.ids["Orders"]
    job = slow_replay(yard.house, orders)
    with portal(tabs, yard, "/replays", size=NARROW) as window:
        page = window.page
        page.locator("tbody tr").first.locator("a.opener").click()
        page.wait_for_url(re.compile(rf"/replays/{job}$"))
        field = page.get_by_label(FIELD)
        expect(field).to_have_value(str(SLOW))
        assert violations(window) == []
        assert window.overflow() <= 0
        window.shoot("portal-replay-runs")
        field.fill("0.002")
        field.press("Enter")
        page.get_by_text("At most 0.002 a second from now on.").wait_for()
        assert yard.house.api("GET", f"/replay-jobs/{job}")["ratePerSecond"] == 0.002
        page.get_by_role("button", name="Cancel it").click()
        expect(page.locator(".verdict")).to_contain_text("Cancelled")
        expect(field).to_have_count(0)
        page.get_by_role("link", name="Recoveries").first.click()
        page.get_by_role("heading", name="Recoveries", level=1).wait_for()
    yard.allow("replay")
    try:
        with portal(tabs, yard, f"/replays/{job}") as window:
            expect(window.page.locator(".verdict")).to_contain_text("Cancelled")
            expect(window.page.get_by_role("link", name="Recoveries")).to_have_count(1)
    finally:
        yard.allow()
