"""The bridge: statements run whole, losses are noticed, and the driver's errors stay inside."""

from storage.bridge import Bridge


async def test_a_statement_returns_its_rows(bridge: Bridge) -> None:
    rows = await bridge.pool.fetch("SELECT $1::int AS a, $2::text AS b", 1, "x")
    assert [(row["a"], row["b"]) for row in rows] == [(1, "x")]


async def test_another(bridge: Bridge) -> None:
    rows = await bridge.pool.fetch("SELECT $1::int AS a, $2::text AS b", 1, "x")
    assert [(row["a"], row["b"]) for row in rows] == [(1, "x")]
