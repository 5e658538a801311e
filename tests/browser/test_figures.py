"""The command that measures the console, here with few deliveries."""

from concurrent.futures import ThreadPoolExecutor

from tests.browser.conftest import require_chromium
from tests.browser.figures import measured

DELIVERIES = 2_000


def test_every_figure_is_measured() -> None:
    require_chromium()
    # The program starts its own Chromium. Playwright allows one per thread, and the tests share one.
    with ThreadPoolExecutor(1) as pool:
        figures = pool.submit(measured, DELIVERIES, watched_s=0.5).result()
    assert len(figures) == 8
    assert all(each.value >= 0 for each in figures)
    counted = {each.name: each for each in figures if each.name.startswith("its ")}
    assert all(each.value <= each.most for each in counted.values())
