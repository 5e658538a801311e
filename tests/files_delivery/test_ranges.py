"""Range, If-Range and If-None-Match, as in RFC 9110."""

import pytest

from engine.files.downloads import Part, UnsatisfiableError, is_known, part_of

TAG = '"abc"'
WHOLE = Part(0, 1000, whole=True)

RANGES: list[tuple[str | None, str | None, Part | None]] = [
    (None, None, WHOLE),
    ("bytes=0-499", None, Part(0, 500, whole=False)),
    ("Bytes=0-0", None, Part(0, 1, whole=False)),
    ("bytes=500-", None, Part(500, 1000, whole=False)),
    ("bytes=-1", None, Part(999, 1000, whole=False)),
    ("bytes=-5000", None, Part(0, 1000, whole=False)),
    ("bytes=990-2000", None, Part(990, 1000, whole=False)),
    ("bytes=0-999", None, Part(0, 1000, whole=False)),
    ("bytes= 1-2", None, Part(1, 3, whole=False)),
    ("bytes=1000-", None, None),
    ("bytes=999999999999999999-", None, None),
    ("bytes=-0", None, None),
    ("bytes=0-1,5-6", None, WHOLE),
    ("bytes=", None, WHOLE),
    ("bytes=-", None, WHOLE),
    ("bytes=5-1", None, WHOLE),
    ("bytes=a-b", None, WHOLE),
    ("bytes=+1-2", None, WHOLE),
    ("bytes=٣-", None, WHOLE),
    ("bytes=" + "9" * 5000 + "-", None, WHOLE),
    ("items=0-1", None, WHOLE),
    ("0-1", None, WHOLE),
    ("bytes=0-1", TAG, Part(0, 2, whole=False)),
    ("bytes=0-1", 'W/"abc"', WHOLE),
    ("bytes=0-1", '"other"', WHOLE),
    ("bytes=0-1", "Sat, 29 Oct 1994 19:43:31 GMT", WHOLE),
    ("bytes=1000-", '"other"', WHOLE),
]


@pytest.mark.parametrize(("wanted", "condition", "part"), RANGES)
def test_a_range_is_what_it_says(
    wanted: str | None, condition: str | None, part: Part | None
) -> None:
    if part is None:
        with pytest.raises(UnsatisfiableError):
            part_of(1000, wanted, condition, TAG)
    else:
        assert part_of(1000, wanted, condition, TAG) == part


def test_an_empty_file_has_no_part() -> None:
    assert part_of(0, "bytes=-5", None, TAG) == Part(0, 0, whole=True)
    with pytest.raises(UnsatisfiableError):
        part_of(0, "bytes=0-", None, TAG)


@pytest.mark.parametrize(
    ("given", "known"),
    [
        (None, False),
        ("*", True),
        (TAG, True),
        ('W/"abc"', True),
        ('"x", "abc"', True),
        ('"x",W/"abc" ,"y"', True),
        ('"x"', False),
        ("abc", False),
        ("", False),
        ('"x"abc"', False),
    ],
)
def test_what_a_reader_has_is_not_sent_again(given: str | None, known: bool) -> None:
    assert is_known(given, TAG) is known
