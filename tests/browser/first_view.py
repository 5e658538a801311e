"""The first view of the console: what a browser loads until it shows the overview."""

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from tests.browser.window import Window

SCRIPTS = 16
BYTES = 80_000  # of the page and its files, as they are sent: gzipped
REQUESTS = 3  # of the API; after them the page holds one stream
MEDIAN_MS = 300
# Notes when the first frame with figures and rows began and ended, in ms since the navigation began.
WATCH = """
globalThis.firstView = new Promise((done) => {
  new MutationObserver((_, watch) => {
    const figures = [...document.querySelectorAll(".figure .value")];
    const told = figures.length && figures.every((each) => !each.textContent.startsWith("\u2013"));
    if (!told || !document.querySelector("main tbody tr")) return;
    watch.disconnect();
    requestAnimationFrame((drawn) => setTimeout(() => done({drawn, ms: performance.now()})));
  }).observe(document, {childList: true, subtree: true, characterData: true});
});
"""
LOADED = """(drawn) => ["navigation", "resource"].flatMap((kind) => performance.getEntriesByType(kind))
  .filter((each) => each.startTime <= drawn)
  .map((each) => ({url: each.name, bytes: each.encodedBodySize}))"""


class FirstView(NamedTuple):
    """What a first view took: paths of scripts and of the API, bytes of the page and its files."""

    ms: float
    scripts: list[str]
    requests: list[str]
    bytes: int


def first_views(window: Window, count: int) -> list[FirstView]:
    """Load the overview again and again, without the browser's cache. The window has signed in."""
    page = window.page
    page.context.new_cdp_session(page).send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.add_init_script(WATCH)
    found = []
    for _ in range(count):
        page.goto(f"{window.url}/console/dev")
        shown: dict[str, float] = page.evaluate("globalThis.firstView")
        loaded: list[Any] = page.evaluate(LOADED, shown["drawn"])
        paths = [urlsplit(each["url"]).path for each in loaded]
        found.append(
            FirstView(
                shown["ms"],
                [each for each in paths if each.endswith(".js")],
                [each for each in paths if not each.startswith("/console")],
                sum(each["bytes"] for each in loaded if "/console" in each["url"]),
            )
        )
    return found
