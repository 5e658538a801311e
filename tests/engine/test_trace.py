"""The trace of a request, by the rules of W3C Trace Context: a valid trace is read and passed on, an
invalid trace is ignored."""

import pytest

from api.door.framing import parse_head
from engine.ingest.event_json import read_event
from engine.model.trace import (
    LONGEST_STATE,
    STATE_CHARACTERS,
    attempt_span,
    is_sampled,
    lines_of,
    log_fields,
    read_trace,
    stated_trace,
    with_span,
)

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"
PARENT = f"00-{TRACE}-{SPAN}-01"


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        (PARENT, PARENT),
        (f" {PARENT}\t", PARENT),
        (f"00-{TRACE}-{SPAN}-00", f"00-{TRACE}-{SPAN}-00"),
        (f"00-{TRACE}-{SPAN}-03", f"00-{TRACE}-{SPAN}-03"),
        (f"00-{TRACE}-{SPAN}-ff", f"00-{TRACE}-{SPAN}-03"),  # flags without a meaning yet
        (f"cc-{TRACE}-{SPAN}-01", PARENT),  # a later version
        (f"cc-{TRACE}-{SPAN}-01-what-comes", PARENT),
        (f"cc-{TRACE}-{SPAN}-01-x, {PARENT}", None),  # two joined fields
        (f"cc-{TRACE}-{SPAN}-01.what-comes", None),
        (f"00-{TRACE}-{SPAN}-01-more", None),
        (f"ff-{TRACE}-{SPAN}-01", None),
        (f"00-{'0' * 32}-{SPAN}-01", None),
        (f"00-{TRACE}-{'0' * 16}-01", None),
        (PARENT.upper(), None),
        (PARENT[:-1], None),
        (PARENT + "0", None),
        (PARENT.replace("-", "_"), None),
        ("", None),
        ("\u00e9" * 55, None),
    ],
)
def test_a_traceparent_is_read_or_ignored(stated: str, read: str | None) -> None:
    assert read_trace({b"traceparent": stated.encode()}) == read


@pytest.mark.parametrize(
    ("stated", "read"),
    [
        ("congo=t61rcWkgMzE", "congo=t61rcWkgMzE"),
        ("rojo=00f0, congo=t61 ,,", "rojo=00f0,congo=t61"),
        ("fw529a3039@dt=FfAAA", "fw529a3039@dt=FfAAA"),
        ("a=" + "v" * 256, "a=" + "v" * 256),
        ("a=" + "v" * 257, ""),
        ("A=1", ""),
        ("a=1,a=2", ""),
        ("a", ""),
        ("a=1;b=\u00e9", ""),
        (",".join(f"k{n}=1" for n in range(32)), ",".join(f"k{n}=1" for n in range(32))),
        (",".join(f"k{n}=1" for n in range(33)), ""),
    ],
)
def test_a_malformed_tracestate_leaves_the_traceparent(stated: str, read: str) -> None:
    trace = read_trace({b"traceparent": PARENT.encode(), b"tracestate": stated.encode()})
    assert trace == (f"{PARENT} {read}" if read else PARENT)


def test_the_longest_tracestate_of_an_event_is_taken_and_cut() -> None:
    members = [f"{'k' * 254}{n:02}={'v' * 256}" for n in range(31)]
    state = ",".join([*members, "short=" + "v" * 60])
    state += "," * (LONGEST_STATE - len(state))
    body = f'{{"eventType":"x","payload":{{}},"traceparent":"{PARENT}","tracestate":"{state}"}}'
    event, _ = read_event(body.encode())
    assert isinstance(event.traceparent, str)
    assert isinstance(event.tracestate, str)
    assert stated_trace(event.traceparent, event.tracestate) == f"{PARENT} short={'v' * 60}"


def test_a_tracestate_without_a_traceparent_means_nothing() -> None:
    assert read_trace({b"tracestate": b"a=1"}) is None


def test_a_long_tracestate_loses_its_long_members_and_then_the_last_ones() -> None:
    members = [f"k{n}={'v' * 60}" for n in range(12)]
    members.insert(3, "long=" + "v" * 200)
    stated = {b"traceparent": PARENT.encode(), b"tracestate": ",".join(members).encode()}
    trace = read_trace(stated)
    assert trace is not None
    state = trace.partition(" ")[2]
    assert len(state) <= STATE_CHARACTERS
    assert "long" not in state
    assert state.split(",") == [each for each in members if "long" not in each][:8]


def test_repeated_fields_of_a_head_are_joined_or_ignored() -> None:
    head = b"POST / HTTP/1.1\r\nHost: a\r\ntraceparent: %b\r\n"
    head += b"tracestate: a=1\r\ntracestate: b=2\r\n%b\r\n"
    once = parse_head(head % (PARENT.encode(), b""))
    assert read_trace(once.index) == f"{PARENT} a=1,b=2"
    twice = parse_head(head % (PARENT.encode(), b"Traceparent: %b\r\n" % PARENT.encode()))
    assert read_trace(twice.index) is None


def test_an_attempt_is_the_parent_of_its_request() -> None:
    trace = f"{PARENT} a=1"
    own = with_span(trace, attempt_span("d", 1))
    assert attempt_span("d", 1) != attempt_span("d", 2)
    assert lines_of(own) == (
        f"traceparent: 00-{TRACE}-{attempt_span('d', 1)}-01\r\ntracestate: a=1\r\n".encode()
    )
    assert is_sampled(own)
    assert log_fields(own) == {"trace_id": TRACE, "span_id": attempt_span("d", 1)}
    assert log_fields(None) == {}
