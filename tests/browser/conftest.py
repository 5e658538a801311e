"""A browser, a server with objects of every kind, and signed-in pages."""

import os
from collections.abc import Iterator

import pytest

from tests.browser.assets import Front
from tests.browser.place import open_place
from tests.browser.town import Town
from tests.browser.window import CHROMIUM, Window, open_browser
from tests.browser.yard import Yard


def require_chromium() -> str:
    """Return the path of Chromium. Without Chromium, skip the test, or fail it if CI is set."""
    if CHROMIUM is None:
        message = "These tests need Chromium. On Debian and Ubuntu: apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return CHROMIUM


@pytest.fixture(scope="package")
def browser() -> Iterator[Window]:
    """The Chromium that these tests share. While Chromium runs, no other asyncio loop can run in this
    thread. So Chromium is stopped before the tests of the next package begin."""
    with open_browser(require_chromium()) as opened:
        yield opened


@pytest.fixture(scope="session")
def town() -> Iterator[Town]:
    with open_place("town") as (house, receiver):
        town = Town(house, receiver)
        town.build()
        yield town


@pytest.fixture(scope="session")
def front(town: Town) -> Iterator[Front]:
    front = Front(("127.0.0.1", town.house.port))
    yield front
    front.close()


@pytest.fixture(scope="session")
def yard() -> Iterator[Yard]:
    with open_place("yard") as (house, receiver):
        yard = Yard(house, receiver)
        yard.build()
        yield yard


@pytest.fixture(scope="package")
def first_tab(browser: Window, front: Front) -> Iterator[Window]:
    """A tab that shows no page of the console. The tests' tabs are opened from this tab, so that all of
    them use one cache of the console's files."""
    with browser.another(front.url) as window:
        window.page.goto(f"{front.url}/livez")
        yield window


@pytest.fixture
def window(first_tab: Window, town: Town) -> Iterator[Window]:
    """A signed-in tab for one test, with scope manage."""
    with first_tab.tab() as window:
        window.sign_in(town.house.key)
        yield window
        window.search()


@pytest.fixture
def timed(browser: Window, front: Front, town: Town) -> Iterator[Window]:
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        yield window
        window.search()


@pytest.fixture(scope="package")
def tabs(browser: Window, yard: Yard) -> Iterator[Window]:
    """A tab that shows no page of the portal or console."""
    with browser.another(yard.url) as window:
        window.page.goto(f"{yard.url}/livez")
        yield window
