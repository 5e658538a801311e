"""The fuzzer's doors. A door is a piece of our code that reads a stranger's bytes, together with a check
for faults in this code."""

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
    """`check` raises only if an input reveals a fault."""

    name: str
    check: Callable[[bytes], None]
    watched: tuple[str, ...]  # packages whose branches guide the fuzzer
    seeds: tuple[bytes, ...]
    words: tuple[bytes, ...] = ()  # bytes that the fuzzer inserts
    # The size of the largest input: the largest size that the door accepts, or, if this is less, the
    # largest size that the check can process in a second.
    largest: int = 16 * 1024
    most_lines: int = 50_000  # our code's lines for an input of that size: see `tests.fuzz.dearest`

    def corpus(self) -> Iterator[Path]:
        """Yield the files of the inputs that are kept. Such an input found a fault, reaches branches that
        no other input reaches, or is among the most expensive inputs."""
        yield from sorted((CORPUS / self.name).glob("*"))


def door(name: str) -> Door:
    return cast(Door, import_module(f"tests.fuzz.doors.{name}").DOOR)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


def split(data: bytes) -> tuple[int, bytes]:
    """Return the value of the first byte, and the rest of the input. The value is the size of the pieces
    in which the check gives the rest to the door."""
    return (data[0] or 1, data[1:]) if data else (1, b"")
