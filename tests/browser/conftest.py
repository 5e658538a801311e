"""A browser, a server with something of everything, and pages that have signed in."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.browser.assets import Front
from tests.browser.town import Town
from tests.browser.window import Window, open_browser
from tests.browser.yard import Yard
from tests.process.house import House
from tests.process.receiver import Receiver

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
    folder = Path(tempfile.mkdtemp(prefix="angarium-town-"))
    folder.chmod(0o755)
    receiver = Receiver()
    try:
        with House(folder / "data") as house:
            town = Town(house, receiver)
            town.build()
            yield town
    finally:
        receiver.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(scope="session")
def front(town: Town) -> Iterator[Front]:
    """The console of the town."""
    front = Front(("127.0.0.1", town.house.port))
    yield front
    front.close()


@pytest.fixture(scope="session")
def yard() -> Iterator[Yard]:
    """A server whose customers have something of everything."""
    folder = Path(tempfile.mkdtemp(prefix="angarium-yard-"))
    folder.chmod(0o755)
    receiver = Receiver()
    try:
        with House(folder / "data") as house:
            yard = Yard(house, receiver)
            yard.build()
            yield yard
    finally:
        receiver.close()
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def window(browser: Window, front: Front, town: Town) -> Iterator[Window]:
    """A window of the test's own, signed in with scope manage."""
    with browser.another(front.url) as window:
        window.sign_in(town.house.key)
        yield window
        window.search()
