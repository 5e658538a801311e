"""The verdict of `bench run rare` on pages."""

from typing import Any

import pytest

from bench.checks import Broken
from bench.rare import complete


def test_a_page_that_stopped_is_told_from_one_that_lacks_rows() -> None:
    whole: dict[str, Any] = {"items": [{}] * 20}
    short: dict[str, Any] = {"items": [{}] * 16}
    stopped = {**short, "searchedTo": "2026-11-13T00:00:00Z"}
    complete("/deliveries", [whole, {**whole, "searchedTo": None}], 20)
    complete("/deliveries", [short], 0)
    with pytest.raises(Broken, match="has 16 of 20"):
        complete("/deliveries", [whole, short], 20)
    for rows in (20, 0):
        with pytest.raises(
            Broken, match=r"stopped at 2026-11-13T00:00:00Z with 16 rows: .* than 100 ms"
        ):
            complete("/deliveries", [stopped, whole], rows)
