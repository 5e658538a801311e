"""Drafts that are tried before they take effect: a script for a destination that has no events yet, and a
schema with its example.
"""

import re

from playwright.sync_api import expect

from tests.browser.axe import violations
from tests.browser.town import Town
from tests.browser.window import Window


def test_a_script_is_tried_with_a_sample_before_the_first_event(window: Window, town: Town) -> None:
    made = town.destination("Not yet", "/not-yet", ["not.yet"])
    page = window.open(f"/bench/{made}")
    sample = page.get_by_label("Body as it would be sent")
    sample.fill('{"type": "not.yet", "data": {"total": 123456789012345678901234567890}')
    page.get_by_text("This is not JSON yet.").wait_for()
    run = page.get_by_role("button", name="Run", exact=True)
    expect(run).to_be_disabled()
    sample.press("End")
    sample.press_sequentially("}")
    page.get_by_label("JavaScript: function transform(event)").fill(
        "function transform(event) { return {seen: event.type}; }"
    )
    publish = page.get_by_role("button", name="Publish", exact=True)
    expect(publish).to_be_disabled()
    run.click()
    page.get_by_text("succeeded").wait_for()
    assert violations(window) == []
    window.shoot("bench-tried")
    listed = f"/destinations/{made}/transform-scripts"
    assert town.house.api("GET", listed)["items"] == []  # a run stores nothing
    publish.click()
    page.get_by_text("Version 1 is live.").wait_for()
    (script,) = town.house.api("GET", listed)["items"]
    assert (script["status"], "seen" in script["source"]) == ("PUBLISHED", True)
    expect(publish).to_be_disabled()
    expect(page.get_by_role("button", name="Save as a draft")).to_be_disabled()


def test_a_schema_is_inferred_from_an_event(window: Window, town: Town) -> None:
    (event,) = town.house.post("inferred", kind="inferred.first")
    page = window.open(f"/events/{event}")
    page.get_by_role("link", name="Infer a schema").click()
    dialog = page.get_by_role("dialog", name="Infer a schema")
    expect(dialog.get_by_label("Event type")).to_have_value("inferred.first")
    expect(dialog.get_by_text("1 event was read.")).to_be_visible()
    assert violations(window) == []
    window.shoot("schema-inferred")
    dialog.get_by_role("button", name="Save as a draft").click()
    page.wait_for_url("**/schemas/inferred.first")
    (version,) = town.house.api("GET", "/schemas/types/inferred.first/versions")["items"]
    assert (version["status"], version["schema"]["type"]) == ("DRAFT", "object")


def test_a_schema_is_written_tried_by_its_example_and_copied_whole(
    window: Window, town: Town
) -> None:
    page = window.open("/schemas/tried.first")
    page.get_by_text("This event type has no schema.").wait_for()
    page.get_by_label("JSON Schema").fill('{"type": "object", "required": ["total"]}')
    page.get_by_label("Example").fill('{"sum": 1}')
    page.get_by_label("Description").fill("A first")
    save = page.get_by_role("button", name="Save as a draft")
    save.click()
    expect(page.get_by_role("alert")).to_contain_text("total")
    page.get_by_label("Example").fill('{"total": 1}')
    save.click()
    page.get_by_role("button", name="New version").click()
    expect(page.get_by_label("Description")).to_have_value("A first")
    expect(page.get_by_label("Example")).to_have_value(re.compile('"total": 1'))
    assert violations(window) == []
    save.click()
    page.get_by_role("link", name="Version 2").wait_for()
    listed = town.house.api("GET", "/schemas/types/tried.first/versions")["items"]
    kept = [(each["version"], each["description"], each["example"]) for each in listed]
    assert kept == [(2, "A first", {"total": 1}), (1, "A first", {"total": 1})]
