"""Pages of filtered lists: the time that a page states for its search."""

import pytest

from api.pages import PAGE_BYTES, searched_page

FOUND = ["0190a3b2-0000-7000-8000-00000000000" + each for each in "321"]
BELOW = "0180a3b2-0000-7000-8000-000000000000"  # an earlier time


@pytest.mark.parametrize(
    ("size", "limit", "below", "stated"),
    [
        (10, 10, BELOW, True),
        (10, 3, BELOW, False),  # the page is full
        (10, 10, None, False),  # the list has ended
        (PAGE_BYTES // 2, 10, BELOW, False),  # the next page continues after an item of this page
    ],
)
def test_a_page_states_how_far_it_searched_if_the_next_page_continues_there(
    size: int, limit: int, below: str | None, stated: bool
) -> None:
    items = [{"id": each, "text": "x" * size} for each in FOUND]
    assert ("searchedTo" in searched_page(items, "list", 1, below, limit)) is stated
