"""The making of records from many rows: other tasks have their turn in between."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

Row = TypeVar("Row")
Made = TypeVar("Made")
# Rows made between two checkpoints: at most 2 ms, for destinations with secrets to decrypt.
SLICE = 100


async def made_in_slices(
    make: Callable[[Row], Made], rows: Iterable[Row], size: int = SLICE
) -> list[Made]:
    """Return what `make` makes of each row, with a checkpoint after each `size` of them."""
    made = []
    for number, row in enumerate(rows, 1):
        made.append(make(row))
        if number % size == 0:
            await trio.lowlevel.checkpoint()
    return made
