"""A browser, a server with something of everything, and pages that have signed in."""

import os
import shutil
from collections.abc import Iterator

import pytest

from tests.browser.assets import Front
from tests.browser.place import open_place
from tests.browser.town import Town
from tests.browser.window import Window, open_browser
from tests.browser.yard import Yard

CHROMIUM = shutil.which("chromium")


def require_chromium() -> str:
    """Return the browser's program. Without it a test is skipped, or fails where CI is set."""
    if CHROMIUM is None:
        message = "These tests need Chromium. On Debian and Ubuntu: apt install chromium"
        if os.environ.get("CI"):
            pytest.fail(message)
        pytest.skip(message)
    return CHROMIUM


@pytest.fixture(scope="module")
def browser() -> Iterator[Window]:
    """Debian's Chromium. While it runs, its thread can run no other asyncio loop: hence one a module."""
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


@pytest.fixture
def window(browser: Window, front: Front, town: Town) -> Iterator[Window]:
    """A window of the test's own, signed in with scope manage."""
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        yield window
        window.search()
