"""The number of workers that an operator sets: a number, or `auto` for one per core."""

import os
from typing import Annotated

from pydantic import BeforeValidator, Field

MOST_WORKERS = 64  # each has some 20 connections to the database, and memory of its own


def number_of_workers(value: object) -> object:
    """Return the number that `auto` stands for: the cores that this process may use."""
    if value != "auto":
        return value
    usable = getattr(
        os, "sched_getaffinity", None
    )  # Linux alone says what a container is left with
    cores = len(usable(0)) if usable is not None else os.cpu_count() or 1
    return min(cores, MOST_WORKERS)


Workers = Annotated[int, BeforeValidator(number_of_workers), Field(ge=1, le=MOST_WORKERS)]
