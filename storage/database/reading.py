"""The conversion of many rows to records, with checkpoints between slices."""

from collections.abc import Callable, Iterable
from typing import TypeVar

import trio

Row = TypeVar("Row")
Made = TypeVar("Made")
# Rows that are converted between two of trio's checkpoints. Destinations take the longest, because their
# secrets are decrypted: 2 ms for 100 rows.
SLICE = 100


async def made_in_slices(
    make: Callable[[Row], Made], rows: Iterable[Row], size: int = SLICE
) -> list[Made]:
    """Call `make` with each row and return the results. Other tasks can run after every `size` rows."""
    made = []
    for number, row in enumerate(rows, 1):
        made.append(make(row))
        if number % size == 0:
            await trio.lowlevel.checkpoint()
    return made
