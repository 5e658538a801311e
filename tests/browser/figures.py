"""The console's performance figures, with many deliveries in the tables.

python -m tests.browser.figures                        # some seven minutes; prints a table
python -m tests.browser.figures --deliveries 20000     # a quick look
python -m tests.browser.figures --load-alone           # the main path with ten pages open
"""

import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from bench.checks import require
from bench.filling import Filled, fill
from bench.interleaved import Cost, cost, in_turns
from bench.onlookers import Listeners
from bench.service import Receiver as BenchReceiver
from bench.service import Service
from tests.browser import first_view
from tests.browser.window import CHROMIUM, HANGS_MS, Window, open_browser
from tests.process.house import House, until
from tests.process.receiver import Answer, Receiver, always

DELIVERIES = 1_000_000
DAYS = 30  # the age of the oldest deliveries
VIEWS = 15
ROUNDS = 5
ENDS = 20  # deliveries whose end on the screen is measured
SLIDES = 5
WATCHED_S = 20  # the time for which an idle server is watched, with and without a page
EVENTS, RATE, PAGES = 20_000, 5_000, 10  # for the main path
TURNS, MOST_TURNS = 5, 18  # a turn takes some 14 s
# After the first five turns of a measurement, further turns are run only while the confidence interval of
# the result is wider than `WIDE`.
WIDE = 0.03
TOPICS = "throughput,health,dlq"  # the topics that an overview follows
# `shown(selector, text)` waits until every element that matches the selector contains the text and a
# frame with these elements is drawn. It resolves to the time of that frame. `expect(selector, text)`
# waits for the user's next input, then calls `shown`. The promise `took` resolves to the ms from the
# input to the frame.
WATCH = """
globalThis.shown = (selector, text) => new Promise((done, fail) => {
  setTimeout(() => fail(new Error(`not shown: ${selector} ${text}`)), HANGS_MS);
  const look = () => {
    const found = [...document.querySelectorAll(selector)];
    if (!found.length || !found.every((each) => each.textContent.includes(text))) return;
    watch.disconnect();
    requestAnimationFrame(() => setTimeout(() => done(performance.timeOrigin + performance.now())));
  };
  const watch = new MutationObserver(look);
  watch.observe(document, {childList: true, subtree: true, characterData: true, attributes: true});
  setTimeout(look);
});
globalThis.expect = (selector, text) => {
  globalThis.took = new Promise((done, fail) => {
    const kinds = ["pointerdown", "pointerup", "keydown", "change"];
    const begin = (event) => {
      for (const kind of kinds) removeEventListener(kind, begin, true);
      const began = performance.timeOrigin + event.timeStamp;
      shown(selector, text).then((drawn) => done(drawn - began), fail);
    };
    for (const kind of kinds) addEventListener(kind, begin, true);
  });
};
""".replace("HANGS_MS", f"{HANGS_MS:.0f}")


class Figure(NamedTuple):
    """A line of the table with its limit, `most`."""

    name: str
    value: float
    unit: str
    most: float


def p95(values: list[float]) -> float:
    return sorted(values)[max(0, -(-len(values) * 95 // 100) - 1)]


def after_input(window: Window, act: Callable[[], object], selector: str, text: str) -> float:
    """Call `act`, which makes an input. Return the ms from the input until a drawn frame shows `text`."""
    window.page.evaluate("(wanted) => { expect(...wanted); }", [selector, text])
    act()
    took: float = window.page.evaluate("took")
    return took


def shown(window: Window, selector: str, text: str) -> float:
    """Wait for a frame that shows a text. Return its time, in ms since the epoch."""
    drawn: float = window.page.evaluate("(wanted) => shown(...wanted)", [selector, text])
    return drawn


def first(window: Window) -> list[Figure]:
    views = first_view.first_views(window, VIEWS)
    median = statistics.median(each.ms for each in views)
    return [
        Figure("first view, median", median, "ms", first_view.MEDIAN_MS),
        Figure("its scripts", max(len(each.scripts) for each in views), "", first_view.SCRIPTS),
        Figure(
            "its bytes", max(each.bytes for each in views) / 1000, "kB", first_view.BYTES / 1000
        ),
        Figure("its requests", max(len(each.requests) for each in views), "", first_view.REQUESTS),
    ]


def interactions(window: Window) -> Figure:
    page, took = window.page, []
    select = partial(partial, page.get_by_label("State", exact=True).select_option)
    for _ in range(ROUNDS):
        window.open("/deliveries")
        rows = "tbody tr:first-child .state"
        took.append(after_input(window, select("RETRYING"), rows, "Retrying"))
        took.append(after_input(window, select("DELIVERED"), rows, "Delivered"))
        opener = page.locator("tbody a.opener").first
        took.append(after_input(window, opener.click, ".attempts", "Attempt 1"))
        back = partial(page.keyboard.press, "Escape")
        took.append(after_input(window, back, rows, "Delivered"))
        window.open("/destinations")
        sort = page.get_by_role("button", name="Waiting")
        took.append(after_input(window, sort.click, "th[aria-sort]", "Waiting"))
        window.open("/dlq")
        retry = page.locator(".cause").get_by_role("button", name="Retry").first
        took.append(after_input(window, retry.click, ".triage", "Retry"))
    return Figure(f"interaction to paint, p95 of {len(took)}", p95(took), "ms", 100)


def ends(window: Window, house: House, receiver: Receiver) -> Figure:
    took = []
    page = window.open("/deliveries?status=DELIVERED")
    page.locator(".live", has_text="Live").wait_for()
    for number in range(1, ENDS + 1):
        house.post(f"end {number}", kind="end.seen")
        drawn = shown(window, "button.fresh", f"{number} new")
        answered = receiver.arrivals("/ends")[-1].at * 1000
        took.append(drawn - answered)
    return Figure("a delivery's end to the screen, most", max(took), "ms", 1000)


def slides(window: Window, house: House, receiver: Receiver) -> Figure:
    took = []
    for number in range(SLIDES):
        path = f"/held/{number}"
        gate = threading.Event()  # no answer before all are shown in flight
        receiver.behave(path, always(Answer(gate=gate)))
        made = house.made(receiver.url + path, f"slide.{number}", concurrency=1)
        house.patch(made, name=f"Slide {number}")
        house.post_batch([str(each) for each in range(200)], kind=f"slide.{number}")
        page = window.open(f"/pulse?name=Slide {number}")
        page.locator(".live", has_text="Live").wait_for()
        shown(window, ".figure-pair", "1 of 1")
        slider = page.get_by_label(f"Concurrency of Slide {number}", exact=True)
        box = slider.bounding_box()
        assert box is not None
        page.mouse.move(box["x"] + 8, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + box["width"] - 1, box["y"] + box["height"] / 2)
        took.append(after_input(window, page.mouse.up, ".figure-pair", "200 of 256"))
        gate.set()
        house.api("DELETE", f"/destinations/{made}", {})
    return Figure("slider released to in flight, most", max(took), "ms", 1000)


def idle(window: Window, house: House, watched_s: float) -> Figure:
    """Measure how much more CPU the server uses with one overview open than with no page open."""

    def used() -> float:
        before, began = house.cpu_s()[0], time.monotonic()
        time.sleep(watched_s)
        return (house.cpu_s()[0] - before) / (time.monotonic() - began) * 100

    window.page.goto("about:blank")
    alone = used()
    window.open("")
    window.page.locator(".live", has_text="Live").wait_for()
    return Figure("server's CPU for one open overview", max(0.0, used() - alone), "%", 1)


def main_path() -> Figure:
    """Return the cost of an event, from its POST to its delivery, while ten pages are open, divided by
    its cost while no page is open.

    This takes at most five minutes on a quiet computer.
    """
    with Service() as service, BenchReceiver() as receiver:
        service.destination(receiver.url + "/hook", ["bench.*"], concurrency=64)
        plan: dict[str, Any] = {"events": EVENTS, "connections": 16, "rate": RATE}

        def watched() -> Cost:
            with Listeners(service, PAGES, TOPICS) as pages:
                found = cost(service, receiver, **plan)
                require(pages.least_heard > 0, "a page received nothing")
                return found

        found = in_turns(
            TURNS, lambda: cost(service, receiver, **plan), watched, most=MOST_TURNS, wide=WIDE
        )
        print(f"main path: {found.figures} {found.verdict} {found.reason}", file=sys.stderr)
        return Figure("main path, ten pages over none", float(found.figures["ratio"]), "", 1.03)


def measured(deliveries: int, watched_s: float = WATCHED_S) -> list[Figure]:
    """Measure all figures that need a browser."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-figures-"))
    folder.chmod(0o755)
    receiver = Receiver()
    try:
        with House(folder / "data") as house:
            made = [house.made(f"{receiver.url}/{n}", f"never.{n}") for n in range(50)]
            house.made(receiver.url + "/ends", "end.seen")
            [place] = house.rows(
                "SELECT e.number, e.workspace::text FROM environments e "
                "WHERE e.number = (SELECT environment FROM destinations LIMIT 1)"
            )
            fill(house.folder, Filled(place[1], place[0], made), deliveries, DAYS)
            until(lambda: house.api("GET", "/livez"), "the server answers")
            with (
                open_browser(CHROMIUM or "chromium") as browser,
                browser.another(house.url) as window,
            ):
                window.page.add_init_script(WATCH)
                window.sign_in(house.key)
                return [
                    *first(window),
                    interactions(window),
                    ends(window, house, receiver),
                    slides(window, house, receiver),
                    idle(window, house, watched_s),
                ]
    finally:
        receiver.close()
        shutil.rmtree(folder, ignore_errors=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--deliveries", type=int, default=DELIVERIES, help="in the tables")
    parser.add_argument("--without-load", action="store_true", help="leave the main path out")
    parser.add_argument("--load-alone", action="store_true", help="measure the main path alone")
    given = parser.parse_args()
    figures = [] if given.load_alone else measured(given.deliveries)
    if not given.without_load:
        figures.append(main_path())
    print(f"load of the machine: {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")
    for each in figures:
        verdict = "holds" if each.value <= each.most else "MISSES"
        print(f"{each.name:44}{each.value:10.2f} {each.unit:3} of {each.most:g}  {verdict}")
    return any(each.value > each.most for each in figures)


if __name__ == "__main__":
    sys.exit(main())
