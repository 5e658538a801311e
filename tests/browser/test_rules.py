"""The editor of routing rules: its requests, changes by other users during editing, and the trial of an
event.
"""

from typing import Any

from playwright.sync_api import Page, expect

from tests.browser.axe import violations
from tests.browser.town import Town
from tests.browser.window import Window


def a_rule(town: Town, name: str) -> str:
    """Create a rule that no other test's events match, and return its path."""
    body = {"name": name, "destinationId": town.ids["Billing"], "eventTypes": ["ruled.never"]}
    return f"/routing-rules/{town.house.api('POST', '/routing-rules', body)['id']}"


def opened(window: Window, path: str) -> Page:
    page = window.open(f"/rules?open={path.rpartition('/')[2]}")
    page.get_by_role("dialog").get_by_label("Name").wait_for()
    return page


def saving(page: Page) -> Any:
    with page.expect_response(lambda answer: answer.request.method == "PATCH") as saved:
        page.get_by_role("button", name="Save", exact=True).click()
    assert saved.value.ok
    expect(page.get_by_role("dialog")).to_have_count(0)
    return saved.value.request.post_data_json


def test_the_editor_of_a_rule_sends_what_was_changed_and_no_more(
    window: Window, town: Town
) -> None:
    path = a_rule(town, "Changed in part")
    page = opened(window, path)
    page.get_by_role("dialog").get_by_label("Priority").select_option("HIGH")
    page.get_by_role("dialog").get_by_label("Filter").fill("event.payload.total > 5")
    assert saving(page) == {"priority": "HIGH", "filter": "event.payload.total > 5"}
    page = opened(window, path)
    page.get_by_role("dialog").get_by_label("Filter").fill("")
    assert saving(page) == {"filter": None}
    town.house.api("DELETE", path)


def test_a_change_by_another_operator_is_told_before_it_is_replaced(
    window: Window, town: Town
) -> None:
    path = a_rule(town, "Changed by two")
    page = opened(window, path)
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("Name").fill("Mine")
    dialog.get_by_label("Event types").fill("ruled.mine")
    theirs = {"name": "Theirs", "priority": "CRITICAL"}
    town.house.api("PATCH", path, theirs)
    dialog.get_by_role("button", name="Save", exact=True).click()
    told = dialog.get_by_role("alert")
    expect(told).to_contain_text("Somebody changed this rule while it was open here.")
    expect(told).to_contain_text("They changed: Name, Priority.")
    expect(told).to_contain_text("You changed this too: Name.")
    expect(dialog.get_by_label("Name")).to_have_value("Mine")
    expect(dialog.get_by_label("Priority")).to_have_value("CRITICAL")
    assert violations(window) == []
    window.shoot("rule-changed-by-two")
    assert town.house.api("GET", path)["name"] == "Theirs"
    assert saving(page) == {"name": "Mine", "eventTypes": ["ruled.mine"]}
    kept = town.house.api("GET", path)
    assert (kept["name"], kept["priority"], kept["eventTypes"]) == (
        "Mine", "CRITICAL", ["ruled.mine"],
    )  # fmt: skip
    town.house.api("DELETE", path)


def test_who_gets_an_event_is_tried_without_a_rule_of_ones_own(window: Window) -> None:
    page = window.open("/schemas/order.paid")
    page.get_by_role("link", name="Who gets it?").click()
    dialog = page.get_by_role("dialog", name="Who gets an event?")
    expect(dialog.get_by_label("Event type")).to_have_value("order.paid")
    dialog.get_by_role("button", name="Try", exact=True).click()
    expect(dialog.get_by_role("link", name="To Billing")).to_be_visible()
    assert violations(window) == []
    page.keyboard.press("Escape")
    expect(dialog).to_have_count(0)
