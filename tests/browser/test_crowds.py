"""Journeys with thousands of objects: a flood of deliveries, dead letters by cause, a long replay."""

import re
import time
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.browser.place import open_place
from tests.browser.window import Window
from tests.process.house import House, until
from tests.process.receiver import Receiver

BATCH = 1_000  # the number of events in one request
FLOOD = 3 * BATCH
UPDATES = 4  # the maximum per second
CAUSES = {"Hats": 4 * BATCH, "Coats": 900, "Boots": 100}
LONG = 10 * BATCH
# Counts the updates of the button that shows the number of new rows, and the changes of the table's rows.
WATCH_FRESH = """
globalThis.noted = {updates: 0, rows: 0};
let told = "";
new MutationObserver((changes) => {
  const now = document.querySelector("button.fresh")?.textContent ?? "";
  if (now !== told) noted.updates += 1;
  told = now;
  noted.rows += changes.filter(({target}) => target.closest?.("tbody")).length;
}).observe(document.querySelector("main"), {childList: true, subtree: true, characterData: true});
"""
WATCH_FIGURES = """
globalThis.noted = [];
new MutationObserver(() => {
  const figures = [...document.querySelectorAll(".figure")];
  noted.push(Object.fromEntries(figures.map((each) => [
    each.querySelector(".name").textContent,
    Number(each.querySelector(".value").textContent.replaceAll(",", ""))])));
}).observe(document.querySelector(".figures"), {childList: true, subtree: true, characterData: true});
"""


class Crowd:
    def __init__(self, house: House, receiver: Receiver) -> None:
        self.house, self.receiver = house, receiver

    def destination(self, name: str, **delivery: object) -> str:
        path = name.lower()
        made = self.house.made(f"{self.receiver.url}/{path}", f"{path}.*", **delivery)
        self.house.patch(made, name=name)
        return made

    def post(self, name: str, count: int) -> None:
        for first in range(0, count, BATCH):
            numbers = [str(first + each) for each in range(min(BATCH, count - first))]
            self.house.post_batch(numbers, kind=f"{name.lower()}.made")

    def unsound(self, name: str) -> str:
        """Create a destination, and publish a script for it that fails for every event."""
        source = f'function transform(event) {{ throw new Error("no size of {name}"); }}'
        made = self.destination(name, retrySchedule=[])
        script = {"destinationId": made, "name": "Size", "source": source}
        found = str(self.house.api("POST", "/transform-scripts", script)["id"])
        self.house.api("POST", f"/transform-scripts/{found}/publish", {})
        return found

    def groups(self) -> dict[str, int]:
        found = self.house.api("GET", "/dlq/groups")["items"]
        return {each["lastError"]: each["count"] for each in found}


@pytest.fixture(scope="module")
def crowd() -> Iterator[Crowd]:
    with open_place("crowd") as (house, receiver):
        yield Crowd(house, receiver)


@pytest.fixture
def window(browser: Window, crowd: Crowd) -> Iterator[Window]:
    with browser.another(crowd.house.url) as window:
        window.sign_in(crowd.house.key)
        yield window
        window.search()


def shown(page: Page, selector: str) -> list[str]:
    return [each.strip() for each in page.locator(selector).all_inner_texts()]


def test_a_flood_is_counted_to_the_last_and_moves_no_row(window: Window, crowd: Crowd) -> None:
    made = crowd.destination("Flood", concurrency=64)
    crowd.post("Flood", 60)
    until(lambda: len(crowd.house.deliveries(made, status="DELIVERED")) == 60, "all are delivered")
    page = window.open("/deliveries?status=DELIVERED")
    expect(page.locator(".live")).to_have_text("Live")
    rows = shown(page, "tbody tr")
    page.evaluate(WATCH_FRESH)
    began = time.monotonic()
    crowd.post("Flood", FLOOD)
    page.keyboard.press("j")  # the page still reacts to its reader
    expect(page.locator("tbody tr:first-child a.opener")).to_be_focused()
    fresh = page.get_by_role("button", name=f"{FLOOD:,} new")
    fresh.wait_for()
    noted = page.evaluate("noted")
    assert 1 <= noted["updates"] <= UPDATES * (time.monotonic() - began) + 1
    assert noted["rows"] == 0
    assert shown(page, "tbody tr") == rows
    fresh.click()
    newest = crowd.house.api("GET", "/deliveries?status=DELIVERED&limit=1")["items"][0]["id"]
    page.wait_for_selector(f'[data-row="{newest}"]')
    expect(page.get_by_role("button", name=re.compile("new: show"))).to_have_count(0)


def test_thousands_of_dead_letters_are_triaged_by_cause(window: Window, crowd: Crowd) -> None:
    scripts = {name: crowd.unsound(name) for name in CAUSES}
    for name, count in CAUSES.items():
        crowd.post(name, count)
    total = sum(CAUSES.values())
    until(lambda: sum(crowd.groups().values()) == total, "all are dead")
    page = window.open("/dlq")
    told = page.locator("main p", has_text="dead letters")
    expect(told).to_have_text(f"3 causes, {total:,} dead letters")
    values = sorted(int(each.replace(",", "")) for each in shown(page, ".cause > .value"))
    assert values == sorted(CAUSES.values()) == sorted(crowd.groups().values())
    crowd.house.api("POST", f"/transform-scripts/{scripts['Hats']}/unpublish", {})
    cause = page.locator(".cause", has_text="no size of Hats")
    cause.get_by_role("button", name="Retry").click()
    cause.get_by_role("button", name="Retry 10, and watch").click()
    cause.get_by_text("10 delivered").wait_for()
    assert len(crowd.receiver.firsts("/hats")) == 10
    cause.get_by_label("Rate limit, per second").fill("")
    cause.get_by_role("button", name=f"Retry the other {CAUSES['Hats'] - 10:,}").click()
    cause.wait_for(state="detached")
    left = total - CAUSES["Hats"]
    expect(told).to_have_text(f"2 causes, {left:,} dead letters")
    assert sum(crowd.groups().values()) == left
    crowd.receiver.wait(
        "/hats", lambda arrivals: len({each.n for each in arrivals}) == CAUSES["Hats"]
    )
    page = window.open("")
    figure = page.locator(".figure", has_text="Dead letters").locator(".value")
    expect(figure).to_have_text(f"{left:,}")


def test_a_long_replay_is_exact_while_it_runs_and_after_its_end(
    window: Window, crowd: Crowd
) -> None:
    crowd.post("Long", LONG)
    crowd.destination("Long")
    page = window.open("/replays?new=1")
    dialog = page.get_by_role("dialog")
    dialog.get_by_label("What").select_option("MISSING")
    dialog.get_by_label("Destination").select_option(label="Long")
    dialog.get_by_label("Rate limit, per second").fill("100")
    dialog.get_by_role("button", name="Count first").click()
    dialog.get_by_text(f"{LONG:,} deliveries would be sent again.").wait_for()
    dialog.get_by_role("button", name=f"Start {LONG:,}").click()
    page.wait_for_selector(".figures")
    page.evaluate(WATCH_FIGURES)
    window.until(lambda: page.evaluate("noted.at(-1)?.Delivered > 0"), "some are delivered")
    page.get_by_role("button", name="Cancel it").click()
    expect(page.locator("main").get_by_text("Cancelled")).to_be_visible()

    def job() -> Any:
        return crowd.house.api("GET", f"/replay-jobs/{page.url.rpartition('/')[2]}")

    until(lambda: job()["delivered"] == job()["enqueued"], "what was sent is counted")
    told = job()
    figures = {"Total": LONG, "Sent": told["enqueued"], "Delivered": told["delivered"]}
    for name, value in figures.items():
        figure = page.locator(".figure", has_text=name).locator(".value")
        expect(figure).to_have_text(f"{value:,}")
    assert 0 < told["delivered"] < told["total"] == LONG
    assert len(crowd.receiver.firsts("/long")) == told["delivered"]
    noted = page.evaluate("noted")
    for before, after in pairwise(noted):
        assert all(before[each] <= after[each] for each in ("Total", "Sent", "Delivered")), (
            before,
            after,
        )
    for each in noted:
        assert each["Delivered"] + each["Failed"] <= each["Sent"] <= each["Total"] <= LONG, each
