"""What is fuzzed: a door takes bytes of a stranger, and a check says what must hold whatever they are."""

from collections.abc import Callable, Iterator
from importlib import import_module
from pathlib import Path
from typing import cast

from msgspec import Struct

CORPUS = Path(__file__).with_name("corpus")
NAMES = (
    "address", "chunked", "configuration", "event", "file_url", "filter", "frames", "master_key",
    "multipart", "patterns", "plans", "query", "request", "response", "schema", "signature", "template",
    "token",
)  # fmt: skip


class Door(Struct, frozen=True):
    """One door. `check` raises for an input that shows a fault, and returns for every other."""

    name: str
    check: Callable[[bytes], None]
    watched: tuple[str, ...]  # packages whose branches guide the fuzzer
    seeds: tuple[bytes, ...]  # where it begins
    words: tuple[bytes, ...] = ()  # what it may put in
    largest: int = (
        16 * 1024
    )  # bytes that the door accepts, or that its check can be given in a second
    most_lines: int = 50_000  # of our code for one input of that size: see `tests.fuzz.dearest`

    def corpus(self) -> Iterator[Path]:
        """Yield the inputs that are kept: those that found something, by its name, and those that reach
        what no other does."""
        yield from sorted((CORPUS / self.name).glob("*"))


def door(name: str) -> Door:
    """Return a door by its name."""
    return cast(Door, import_module(f"tests.fuzz.doors.{name}").DOOR)


def cut(data: bytes, size: int) -> list[bytes]:
    """Return `data` in pieces of so many bytes."""
    return [data[at : at + size] for at in range(0, len(data), size)]


def split(data: bytes) -> tuple[int, bytes]:
    """Return the size of the pieces that an input asks for, and the rest of it."""
    return (data[0] or 1, data[1:]) if data else (1, b"")
