"""A window of the browser with its complaints: content policy reports, errors and foreign hosts."""

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from unittest import mock

from playwright.sync_api import Browser, BrowserContext, Locator, Page, expect, sync_playwright

from tests.patience import HANGS_S
from tests.process.house import until

# Chromium's headless shell draws the same pages at half the CPU cost.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
WIDE = (1440, 900)
NARROW = (390, 844)
STOPS = 120  # an element is unreachable after so many presses of Tab
HANGS_MS = HANGS_S * 1000
# The folder for screenshots. Without the variable, none are kept.
SHOTS = os.environ.get("ANGARIUM_SCREENSHOTS")
REPORTS = """
addEventListener("securitypolicyviolation", (event) => {
  console.error("policy: " + event.violatedDirective + " " + event.blockedURI + " " + event.sample);
});
"""


class Window:
    """A page in its own browser context, which shares no storage with other windows."""

    def __init__(self, browser: Browser, url: str = "", page: Page | None = None) -> None:
        self._browser, self.url = browser, url
        self._page = page
        self.complaints: list[str] = []
        self.requests: list[str] = []

    @property
    def page(self) -> Page:
        assert self._page is not None, "open another window first"
        return self._page

    @contextmanager
    def another(
        self,
        url: str,
        size: tuple[int, int] = WIDE,
        *,
        scheme: Any = "light",
        locale: str = "en-GB",
    ) -> Iterator["Window"]:
        """Open a window that shares nothing with other windows."""
        context = self._browser.new_context(
            viewport={"width": size[0], "height": size[1]},
            color_scheme=scheme,
            locale=locale,
            timezone_id="Europe/Berlin",
            reduced_motion="reduce",
        )
        context.set_default_timeout(HANGS_MS)
        context.add_init_script(REPORTS)
        try:
            yield self._shown(context, url)
        finally:
            context.close()

    def _shown(self, context: BrowserContext, url: str) -> "Window":
        window = Window(self._browser, url, context.new_page())
        page = window.page
        page.on("console", lambda said: window.hear(said.type, said.text))
        page.on("pageerror", lambda error: window.complaints.append(str(error)))
        page.on("request", lambda request: window.requests.append(request.url))
        return window

    @contextmanager
    def tab(self) -> Iterator["Window"]:
        """Open a tab beside this page. The tab shares the cached files with earlier tabs, but no other
        state. A test that uses the tab must not set the clock, because all tabs share one clock.
        """
        context = self.page.context
        try:
            yield self._shown(context, self.url)
        finally:
            for page in context.pages:
                if page is not self.page:
                    page.close()
            context.clear_cookies()
            context.clear_permissions()
            context.set_offline(False)
            self.page.evaluate("localStorage.clear()")

    def hear(self, kind: str, text: str) -> None:
        """Record the errors of the page. Chromium's messages about refused requests are left out, because
        the page itself shows its user such refusals.
        """
        if kind == "error" and "Failed to load resource" not in text:
            self.complaints.append(text)

    def asked(self) -> list[str]:
        """Return the requests to the API. Requests for modules are left out, because the page can load a
        module at any time.
        """
        return [each for each in self.requests if "/assets/" not in each]

    def forget(self) -> None:
        self.complaints.clear()
        self.requests.clear()

    def search(self) -> None:
        assert self.complaints == []
        assert [each for each in self.requests if not each.startswith((self.url, "data:"))] == []

    def open(self, path: str) -> Page:
        """Open a page of the console and wait until its content has loaded."""
        self.page.goto(f"{self.url}/console/dev{path}")
        self.settled()
        return self.page

    def settled(self) -> None:
        """Wait until the page has a title and no skeleton, and does not show rows of the previous filter
        any more.
        """
        self.page.wait_for_selector("main h1")
        unfinished = ".skeleton:not(.sample *), [aria-busy=true]"
        self.page.wait_for_selector(unfinished, state="detached")

    def sign_in(self, key: str) -> None:
        """Exchange a key for a session, as a reader does."""
        self.page.goto(f"{self.url}/console")
        self.page.locator("input[type=password]").fill(key)
        self.page.keyboard.press("Enter")
        self.page.wait_for_selector("main h1")

    def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a handler of the page's events has recorded something. The loop queries the page
        again and again, because Playwright runs handlers only during a query.
        """
        until(lambda: self.page.evaluate("true") and condition(), what)

    def shoot(self, name: str) -> None:
        if SHOTS:
            Path(SHOTS).mkdir(parents=True, exist_ok=True)
            self.page.screenshot(path=str(Path(SHOTS) / f"{name}.png"))

    def dress(self, scheme: Any) -> None:
        self.page.emulate_media(color_scheme=scheme, reduced_motion="reduce")

    def tab_to(self, target: Locator, key: str = "Tab") -> None:
        target.wait_for()
        for _ in range(STOPS):
            if target.evaluate("(element) => element === document.activeElement"):
                return
            self.page.keyboard.press(key)
        raise AssertionError(f"not reached by {key}: {target}")

    def overflow(self) -> int:
        """Return the number of pixels by which the page is wider than the window."""
        wide: int = self.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        return wide


@contextmanager
def open_browser(program: str) -> Iterator[Window]:
    """Start a browser."""
    # The service imports a bridge to asyncio, which makes asyncio create loops of another kind.
    # Playwright cannot run in such a loop, so this block gives it one of asyncio's own loops.
    with mock.patch("asyncio.new_event_loop", asyncio.SelectorEventLoop):
        started = sync_playwright()
        playwright = started.__enter__()
    try:
        expect.set_options(timeout=HANGS_MS)  # Playwright's default is five seconds
        browser = playwright.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield Window(browser)
        browser.close()
    finally:
        started.__exit__()
