"""The command that measures the console, here with few deliveries."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.browser import figures as measuring
from tests.browser.conftest import require_chromium
from tests.browser.figures import measured

DELIVERIES = 2_000
# Few repetitions are enough: the test judges only counts, which are the same each time, and no durations.
REPEATED = {"VIEWS": 3, "ROUNDS": 1, "ENDS": 3, "SLIDES": 1}


def test_every_figure_is_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    require_chromium()
    for name, times in REPEATED.items():
        monkeypatch.setattr(measuring, name, times)
    # The program starts a Playwright of its own, but a thread can run only one Playwright. This thread
    # already runs the Playwright of the other tests, so the program gets another thread.
    with ThreadPoolExecutor(1) as pool:
        figures = pool.submit(measured, DELIVERIES, watched_s=0.5).result()
    assert len(figures) == 8
    assert all(each.value >= 0 for each in figures)
    counted = {each.name: each for each in figures if each.name.startswith("its ")}
    assert all(each.value <= each.most for each in counted.values())
