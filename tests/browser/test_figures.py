"""The command that measures the console measures everything, with few deliveries in the tables."""

from tests.browser.conftest import require_chromium
from tests.browser.figures import measured

DELIVERIES = 2_000


def test_every_figure_is_measured() -> None:
    require_chromium()
    figures = measured(DELIVERIES, watched_s=0.5)
    assert len(figures) == 8
    assert all(each.value >= 0 for each in figures)
    counted = {each.name: each for each in figures if each.name.startswith("its ")}
    assert all(each.value <= each.most for each in counted.values())
