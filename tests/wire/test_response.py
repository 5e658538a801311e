"""The parser of answers, without a socket: however the bytes are cut into pieces, the result is the
same."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.wire.failure import WireError
from engine.wire.response import BODY_LIMIT, Response

WHOLE = [
    b"HTTP/1.1 200 OK\r\ncontent-length: 5\r\nx-a: b\r\n\r\nhello",
    b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2;x=y\r\nhe\r\n3\r\nllo\r\n0\r\nt: u\r\n\r\n",
    b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nlink: x\r\n\r\nHTTP/1.1 204 No\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nokHTTP/1.1 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 17000\r\n\r\n" + b"x" * 17000,
    b"HTTP/1.0 404 No\r\n\r\nuntil the end",
    b"RTSP/1.0 200 OK\r\n\r\n",
    b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\ntransfer-encoding: chunked\r\n\r\n",
    b"HTTP/1.1 101 Go\r\nupgrade: x\r\nconnection: upgrade\r\n\r\nx",
]


def judge(pieces: list[bytes]) -> tuple[object, ...]:
    """Feed the pieces, then the connection's end."""
    answer = Response()
    failed = False
    try:
        for piece in pieces:
            if piece and not answer.complete:
                answer.feed(piece)
        if not answer.complete:
            answer.end()
    except WireError:
        failed = True
    return failed, answer.status, answer.headers, answer.body, answer.truncated, answer.complete


def cut(data: bytes, at: list[int]) -> list[bytes]:
    marks = [0, *sorted(mark % (len(data) + 1) for mark in at), len(data)]
    return [data[a:b] for a, b in pairwise(marks)]


@given(st.sampled_from(WHOLE), st.lists(st.integers(0, 1 << 20), max_size=6))
def test_pieces_mean_the_same_as_the_whole(data: bytes, at: list[int]) -> None:
    assert judge(cut(data, at)) == judge([data])


@given(st.binary(max_size=300), st.lists(st.integers(0, 1 << 20), max_size=3))
@settings(max_examples=300)
def test_garbage_raises_nothing_but_wire_errors(data: bytes, at: list[int]) -> None:
    judge(cut(b"HTTP/1.1 200 OK\r\n" + data, at))
    judge(cut(data, at))


@given(st.data())
@settings(max_examples=300)
def test_damaged_answers_raise_nothing_but_wire_errors(data: st.DataObject) -> None:
    answer = bytearray(data.draw(st.sampled_from(WHOLE)))
    for _ in range(data.draw(st.integers(1, 4))):
        answer[data.draw(st.integers(0, len(answer) - 1))] = data.draw(st.integers(0, 255))
    judge(cut(bytes(answer), data.draw(st.lists(st.integers(0, 1 << 20), max_size=3))))


def test_one_parser_reads_many_answers() -> None:
    answer = Response()
    for data in (WHOLE[0], WHOLE[1], WHOLE[2], WHOLE[0]):
        answer.feed(data)
        assert answer.complete
        assert answer.keep_alive
        assert not answer.excess
        answer.reset()


@given(st.lists(st.tuples(st.sampled_from(WHOLE[:3]), st.lists(st.integers(0, 99), max_size=1))))
def test_an_answer_means_the_same_whatever_came_before_it(
    answers: list[tuple[bytes, list[int]]],
) -> None:
    kept = Response()
    for data, at in answers:
        fresh = Response()
        for answer in (kept, fresh):
            for piece in cut(data, at):
                if piece:
                    answer.feed(piece)
        for name in ("status", "headers", "body", "complete", "keep_alive", "truncated", "excess"):
            assert getattr(kept, name) == getattr(fresh, name), name
        kept.reset()


def test_an_answer_with_a_byte_more_is_not_taken_for_the_one_before() -> None:
    answer = Response()
    for extra, excess in ((b"", False), (b"", False), (b"x", True)):
        answer.feed(WHOLE[0] + extra)
        assert answer.excess is excess
        answer.reset()


def test_bytes_behind_an_answer_are_noticed_and_leave_it_as_it_is() -> None:
    answer = Response()
    answer.feed(WHOLE[3])
    assert answer.complete
    assert answer.excess
    assert answer.body == b"ok"
    assert len(answer.fields) == 1


def test_what_is_kept_of_a_body_is_bounded_whatever_it_is_made_of() -> None:
    answer = Response()
    answer.feed(b"HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n")
    while not answer.complete:
        answer.feed(b"1\r\nx\r\n" * 999)
    assert len(answer.body) == BODY_LIMIT
    assert answer.truncated
    assert not answer.keep_alive


@pytest.mark.parametrize(
    ("fields", "ends"),
    [
        (b"", True),
        (b"connection: close\r\n", True),
        (b"transfer-encoding: gzip\r\n", True),
        (b"content-length: 9\r\n", False),
        (b"transfer-encoding: gzip, chunked\r\n", False),
        (b"Transfer-Encoding: CHUNKED\r\n", False),
    ],
)
def test_an_end_ends_only_what_has_no_length(fields: bytes, ends: bool) -> None:
    answer = Response()
    answer.feed(b"HTTP/1.1 200 OK\r\n" + fields + b"\r\n")
    if ends:
        answer.end()
        assert answer.complete
    else:
        with pytest.raises(WireError, match="within the body"):
            answer.end()
