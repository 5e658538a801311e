"""The decoding of URL escapes: it agrees with the standard library, and runs only a few lines of Python,
however many escapes there are."""

import random
from urllib.parse import unquote_to_bytes

import pytest

from api.door.framing import MAX_HEAD
from api.escapes import unescaped
from tests.fuzz.dearest import counted

PARTS = (
    b"%", b"%4", b"%41", b"%e2%82%ac", b"%3D", b"=", b"=41", b"==", b"=\r\n", b"\n", b" ", b"a", b"%%",
)  # fmt: skip
MOST_LINES = 10


def test_escapes_are_decoded_as_the_standard_library_does() -> None:
    chance = random.Random(1)
    texts = [b"".join(chance.choices(PARTS, k=chance.randrange(8))) for _ in range(2_000)]
    texts += [chance.randbytes(20).replace(b"\0", b"%") for _ in range(500)]
    for text in texts:
        assert unescaped(text) == unquote_to_bytes(text), text


@pytest.mark.parametrize("part", PARTS)
def test_a_head_full_of_escapes_is_decoded_in_a_few_lines(part: bytes) -> None:
    text = part * (MAX_HEAD // len(part))
    assert counted(lambda: unescaped(text)).most <= MOST_LINES
