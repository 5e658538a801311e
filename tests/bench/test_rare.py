"""The page times that `bench run rare` computes."""

from typing import Any

import pytest

from bench.checks import Broken
from bench.rare import STOPPED_MS, times

WHOLE: dict[str, Any] = {"items": [{}] * 20}
SHORT: dict[str, Any] = {"items": [{}] * 16}
STOPPED = {**SHORT, "searchedTo": "2026-11-13T00:00:00Z"}


def test_a_page_that_lacks_rows_breaks_the_measurement() -> None:
    assert times("/deliveries", [(2.0, WHOLE), (1.0, {**WHOLE, "searchedTo": None})], 20) == [1, 2]
    assert times("/deliveries", [(1.0, SHORT)], 0) == [1]
    with pytest.raises(Broken, match="/deliveries has 16 of 20"):
        times("/deliveries", [(1.0, WHOLE), (1.0, SHORT)], 20)


def test_a_page_that_stopped_counts_as_slow() -> None:
    assert times("/deliveries", [(100.0, STOPPED), (1.0, WHOLE)], 20) == [1, 100 + STOPPED_MS]
