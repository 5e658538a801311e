"""The conversion of many rows to records, with checkpoints between slices."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

Row = TypeVar("Row")
Made = TypeVar("Made")
# Rows between two of trio's checkpoints. Destinations with secrets to decrypt take longest: 2 ms.
SLICE = 100


async def made_in_slices(
    make: Callable[[Row], Made], rows: Iterable[Row], size: int = SLICE
) -> list[Made]:
    """Return `make` of each row, with a checkpoint after every `size` rows."""
    made = []
    for number, row in enumerate(rows, 1):
        made.append(make(row))
        if number % size == 0:
            await trio.lowlevel.checkpoint()
    return made
