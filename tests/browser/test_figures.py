"""The command that measures the console, here with few deliveries."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.browser import figures as measuring
from tests.browser.conftest import require_chromium
from tests.browser.figures import measured

DELIVERIES = 2_000
# The bounds of counts hold for each view. Times are not judged here, so few of each are enough.
REPEATED = {"VIEWS": 3, "ROUNDS": 1, "ENDS": 3, "SLIDES": 1}


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    require_chromium()
    for name, times in REPEATED.items():
        monkeypatch.setattr(measuring, name, times)
    # The program starts a Playwright of its own. A thread can have only one, and this thread has that of
    # the other tests, so the program runs in another thread.
    with ThreadPoolExecutor(1) as pool:
        figures = pool.submit(measured, DELIVERIES, watched_s=0.5).result()
    assert len(figures) == 8
    assert all(each.value >= 0 for each in figures)
    counted = {each.name: each for each in figures if each.name.startswith("its ")}
    assert all(each.value <= each.most for each in counted.values())
