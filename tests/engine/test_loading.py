"""Pauses of the loader of read models. The loader lets other tasks run after a fixed time, and not after
a number of rows, because some rows take longer than others."""

import trio

from engine.control.loading import SLICE_S, Breaks


async def test_others_have_their_turn_after_a_slice_and_not_before() -> None:
    now = 0.0
    turns = 0

    async def other() -> None:
        nonlocal turns
        while True:
            turns += 1
            await trio.lowlevel.checkpoint()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(other)
        await trio.lowlevel.checkpoint()
        begun = turns
        breaks = Breaks(lambda: now)
        for _ in range(10):  # cheap rows: no turn for each of them
            now += SLICE_S / 100
            await breaks.when_due()
        assert turns == begun
        for _ in range(10):
            now += SLICE_S * 1.5
            await breaks.when_due()
        assert turns >= begun + 10 - 1
        nursery.cancel_scope.cancel()
