"""What may be sent to PostgreSQL as an array."""

from collections.abc import Collection

import pytest

from storage.database.bridge import Bridge
from storage.database.errors import PoisonError

COLLECTIONS = [[1, 2], (1, 2), range(2), {1, 2}, frozenset({1}), {1: 2}.keys(), {1: 2}.values(), []]


@pytest.mark.parametrize("sent", COLLECTIONS, ids=lambda sent: type(sent).__name__)
async def test_collections_are_sent_as_arrays(bridge: Bridge, sent: Collection[int]) -> None:
    assert await bridge.pool.fetch_value("SELECT $1::int[]", sent) == list(sent)


async def test_arrays_of_texts_and_of_arrays_come_back(bridge: Bridge) -> None:
    for sql, sent in (("SELECT $1::text[]", ["ab", "", None]), ("SELECT $1::int[]", [[1], [2]])):
        assert await bridge.pool.fetch_value(sql, sent) == sent


async def test_a_text_is_no_array_of_letters(bridge: Bridge) -> None:
    for sent in ("ab", b"ab", {"a": 1}):
        with pytest.raises(PoisonError):
            await bridge.pool.fetch("SELECT $1::text[]", sent)
