"""The values that PostgreSQL can receive as an array."""

from typing import Any

import pytest

from storage.database.bridge import Bridge
from storage.database.errors import PoisonError

COLLECTIONS: list[list[int] | tuple[int, ...]] = [[1, 2], (1, 2), []]


@pytest.mark.parametrize("sent", COLLECTIONS, ids=lambda sent: type(sent).__name__)
async def test_lists_and_tuples_are_sent_as_arrays(
    bridge: Bridge, sent: list[int] | tuple[int, ...]
) -> None:
    assert await bridge.pool.fetch_value("SELECT $1::int[]", sent) == list(sent)


async def test_arrays_of_texts_and_of_arrays_come_back(bridge: Bridge) -> None:
    for sql, sent in (("SELECT $1::text[]", ["ab", "", None]), ("SELECT $1::int[]", [[1], [2]])):
        assert await bridge.pool.fetch_value(sql, sent) == sent


async def test_nothing_else_is_sent_as_an_array(bridge: Bridge) -> None:
    others: list[Any] = ["ab", b"ab", {"a": 1}, {"a"}, range(2)]  # mypy refuses the last three
    for sent in others:
        with pytest.raises(PoisonError):
            await bridge.pool.fetch("SELECT $1::text[]", sent)
