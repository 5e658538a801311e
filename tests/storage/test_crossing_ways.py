"""The short path of a hot connection, on which trio itself runs a statement. The statement must have the
same answer and the same effect as when the asyncio loop runs it."""

from dataclasses import replace
from typing import Any

import trio
from hypothesis import given, settings
from hypothesis import strategies as st

from storage.database.bridge import Bridge
from storage.database.errors import StoreError
from storage.database.profiles import hot

TABLE = "CREATE TABLE seen (lean boolean, n int, value bytea, PRIMARY KEY (lean, n))"
SIZES = st.sampled_from([0, 1, 100, 70_000, 300_000])  # one read of the socket has 64 KiB

statements = st.one_of(
    st.tuples(st.just("SELECT $1::bytea"), SIZES.map(bytes)),
    st.tuples(st.just("SELECT $1::int[]"), st.lists(st.integers(0, 9) | st.none(), max_size=3)),
    st.tuples(st.just("SELECT n, $1::text FROM generate_series(1, 1000) n"), st.text(max_size=9)),
    # Three kinds of errors: an argument that cannot be sent, an error in the midst of the rows, and an
    # error before the first row.
    st.tuples(st.just("SELECT $1::text"), st.sampled_from(["nul\0", "\ud800", 1])),
    st.tuples(
        st.just("SELECT 1 / (n - $1::int) FROM generate_series(1, 5000) n"),
        st.sampled_from([0, 1, 4_000]),
    ),
    st.tuples(st.just("SELECT FROM nowhere")),
)
inserts = st.tuples(
    st.just("INSERT INTO seen VALUES ($2::boolean, $1::int) RETURNING n"), st.integers(0, 3)
)
steps = st.one_of(
    st.tuples(st.just("run"), statements | inserts),
    st.tuples(st.just("run in a transaction"), st.lists(statements | inserts, max_size=3)),
    st.tuples(st.just("run together"), st.lists(statements, max_size=4)),
    st.tuples(st.just("cancel before it begins"), inserts),
    st.tuples(st.just("cancel while it runs"), statements | inserts),
    st.tuples(st.just("lose the connection")),
)


class Way:
    """One connection, whose statements trio steps if it is `lean`."""

    def __init__(self, bridge: Bridge, *, lean: bool) -> None:
        self._lean = lean
        self.connection = bridge.connection(replace(hot("test"), lean=lean))

    async def do(self, kind: str, what: Any = ()) -> Any:
        """Take a step; return what its caller sees."""
        connection = self.connection
        await connection.ensure()
        assert (connection._crossing is not None) is self._lean
        if kind == "run":
            return await self._run(*what)
        if kind == "run in a transaction":
            return await self._transact(what)
        if kind == "run together":
            return await self._run_together(what)
        if kind == "lose the connection":
            lost = await self._run("SELECT pg_terminate_backend(pg_backend_pid())")
            return lost, connection.connected
        with trio.CancelScope() as scope:
            if kind == "cancel before it begins":
                scope.cancel()
            else:
                trio.lowlevel.current_trio_token().run_sync_soon(scope.cancel)
            return await self._run(*what)
        return "cancelled"

    async def _run(self, sql: str, *arguments: Any) -> Any:
        try:
            mine = (self._lean,) if sql.startswith("INSERT") else ()
            rows = await self.connection.fetch(sql, *arguments, *mine)
        except StoreError as error:
            return type(error), str(error)
        return [tuple(row) for row in rows]

    async def _transact(self, statements: list[Any]) -> Any:
        try:
            async with self.connection.transaction():
                answers = [await self._run(*each) for each in statements]
        except StoreError as error:
            return type(error), str(error)
        return answers

    async def _run_together(self, statements: list[Any]) -> dict[int, Any]:
        answers: dict[int, Any] = {}

        async def run(place: int) -> None:
            answers[place] = await self._run(*statements[place])

        async with trio.open_nursery() as nursery:
            for place in range(len(statements)):
                nursery.start_soon(run, place)
        return answers


async def test_both_ways_answer_alike_and_do_the_same(bridge: Bridge) -> None:
    await bridge.pool.execute(TABLE)
    ways = [Way(bridge, lean=lean) for lean in (True, False)]

    async def compare(plan: list[Any]) -> None:
        await bridge.pool.execute("DELETE FROM seen")
        for step in plan:
            lean, general = [await way.do(*step) for way in ways]
            assert lean == general
        rows = await bridge.pool.fetch("SELECT lean, n FROM seen ORDER BY n")
        lean, general = ([row["n"] for row in rows if row["lean"] is way] for way in (True, False))
        assert lean == general
        assert ways[0].connection.connects == ways[1].connection.connects

    @given(st.lists(steps, min_size=1, max_size=8))
    @settings(max_examples=25)
    def every(plan: list[Any]) -> None:
        trio.from_thread.run(compare, plan)

    # Hypothesis is not async, and the bridge belongs to this loop.
    await trio.to_thread.run_sync(every)
