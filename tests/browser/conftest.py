"""A browser, a server with something of everything, and pages that have signed in."""

import os
from collections.abc import Iterator

import pytest

from tests.browser.assets import Front
from tests.browser.place import open_place
from tests.browser.town import Town
from tests.browser.window import CHROMIUM, Window, open_browser
from tests.browser.yard import Yard


def require_chromium() -> str:
    """Return the browser's program. Without it a test is skipped, or fails where CI is set."""
    if CHROMIUM is None:
        message = "These tests need Chromium. On Debian and Ubuntu: apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return CHROMIUM


@pytest.fixture(scope="package")
def browser() -> Iterator[Window]:
    """The Chromium that the tests here share. While it runs, its thread can run no other asyncio
    loop: it ends before another package's tests begin."""
    with open_browser(require_chromium()) as opened:
        yield opened


@pytest.fixture(scope="session")
def town() -> Iterator[Town]:
    """A server whose tests leave what others look at as it is."""
    with open_place("town") as (house, receiver):
        town = Town(house, receiver)
        town.build()
        yield town


@pytest.fixture(scope="session")
def front(town: Town) -> Iterator[Front]:
    """The console of the town."""
    front = Front(("127.0.0.1", town.house.port))
    yield front
    front.close()


@pytest.fixture(scope="session")
def yard() -> Iterator[Yard]:
    """A server whose customers have something of everything."""
    with open_place("yard") as (house, receiver):
        yard = Yard(house, receiver)
        yard.build()
        yield yard


@pytest.fixture(scope="package")
def first_tab(browser: Window, front: Front) -> Iterator[Window]:
    """A tab that shows no page of the console. In its window, the browser keeps the console's files."""
    with browser.another(front.url) as window:
        window.page.goto(f"{front.url}/livez")
        yield window


@pytest.fixture
def window(first_tab: Window, town: Town) -> Iterator[Window]:
    """A tab of the test's own, signed in with scope manage."""
    with first_tab.tab() as window:
        window.sign_in(town.house.key)
        yield window
        window.search()


@pytest.fixture
def timed(browser: Window, front: Front, town: Town) -> Iterator[Window]:
    """A signed-in window of the test's own, whose clock the test can set."""
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        yield window
        window.search()


@pytest.fixture(scope="package")
def tabs(browser: Window, yard: Yard) -> Iterator[Window]:
    """A tab that shows no page. In its window, the browser keeps the files of portal and console."""
    with browser.another(yard.url) as window:
        window.page.goto(f"{yard.url}/livez")
        yield window
