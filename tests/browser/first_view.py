"""The cost of the first view of console and portal: all that a browser loads until it shows figures
and rows.
"""

from typing import Any, NamedTuple
from urllib.parse import urlsplit

from playwright.sync_api import Frame

from tests.browser.window import Window

CONSOLE = "/console/dev"
PAGES = ("/console", "/portal")
SCRIPTS = 16
BYTES = 80_000  # the page and its files as they are sent: gzipped
REQUESTS = 3  # to the API
MEDIAN_MS = 300
# Records when the browser began to draw the first figures and rows, and when they were drawn. Both times
# are in ms since the navigation began.
WATCH = """
globalThis.firstView = new Promise((done) => {
  new MutationObserver((_, watch) => {
    const figures = [...document.querySelectorAll(".figure .value")];
    const some = figures.length || location.pathname.startsWith("/portal/");  // which has rows alone
    const told = some && figures.every((each) => !each.textContent.startsWith("\u2013"));
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
    """The cost of a first view: the paths of scripts and of API requests, and the bytes of the page and
    its files.
    """

    ms: float
    scripts: list[str]
    requests: list[str]
    bytes: int


def first_views(window: Window, count: int, path: str = CONSOLE) -> list[FirstView]:
    """Load the page at `path` repeatedly, without the browser's cache. The window must be signed in."""
    page = window.page
    protocol = page.context.new_cdp_session(page)
    protocol.send("Network.setCacheDisabled", {"cacheDisabled": True})
    page.add_init_script(WATCH)
    found = []
    for _ in range(count):
        page.goto(window.url + path)
        found.append(first_view(page.main_frame))
    protocol.detach()  # this enables the cache again
    return found


def first_view(frame: Frame) -> FirstView:
    """Return the cost of the first view of an HTML frame. `WATCH` must have run before the page's own
    scripts.
    """
    shown: dict[str, float] = frame.evaluate("globalThis.firstView")
    loaded: list[Any] = frame.evaluate(LOADED, shown["drawn"])
    paths = [urlsplit(each["url"]).path for each in loaded]
    return FirstView(
        shown["ms"],
        [each for each in paths if each.endswith(".js")],
        [each for each in paths if not each.startswith(PAGES)],
        sum(each["bytes"] for each in loaded if urlsplit(each["url"]).path.startswith(PAGES)),
    )
