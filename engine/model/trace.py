"""The trace of an event: a W3C Trace Context in one text.

The text is the `traceparent`. If there is a `tracestate`, a space and the `tracestate` follow. The text
is stored with the event, so that any server that makes an attempt can continue the trace.
"""

import hashlib
import re
from collections.abc import Mapping, MutableMapping, Sequence

TRACEPARENT = b"traceparent"
TRACESTATE = b"tracestate"
PARENT_LENGTH = 55  # of a version 00 traceparent
STATE_CHARACTERS = 512  # the standard asks to pass on at least this much; longer states are cut
STATE_MEMBERS = 32  # the most that a tracestate can have
# The longest tracestate that the standard allows. Each member has a key of 256 characters, "=", a value
# of 256 characters, and a comma. Only the last member has no comma.
LONGEST_STATE = STATE_MEMBERS * (256 + 1 + 256 + 1) - 1
LONG_MEMBER = 128  # longer members are the first to be dropped from a state that is too long
_SAMPLED = 1
_KNOWN_FLAGS = 3  # sampled, and random trace id
_PARENT = re.compile(rb"([0-9a-f]{2})-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})(-[ -+\--~]*)?")
_NO_TRACE, _NO_SPAN = b"0" * 32, b"0" * 16
_MEMBER = re.compile(
    rb"((?:[a-z][a-z0-9_\-*/]{0,255})|(?:[a-z0-9][a-z0-9_\-*/]{0,240}@[a-z][a-z0-9_\-*/]{0,13}))"
    rb"=[\x20-\x2b\x2d-\x3c\x3e-\x7e]{0,255}[\x21-\x2b\x2d-\x3c\x3e-\x7e]"
)


def read_trace(fields: Mapping[bytes, bytes]) -> str | None:
    """Return the trace in a request's headers. None: the headers have no trace, or the standard says that
    the trace must be ignored."""
    value = fields.get(TRACEPARENT)
    if value is None:
        return None
    parent = _parent(value)
    if parent is None:
        return None
    stated = fields.get(TRACESTATE)
    state = b"" if stated is None else _state(stated)
    return (parent + b" " + state if state else parent).decode("ascii")


def stated_trace(parent: str, state: str | None) -> str | None:
    """Return the trace in an event, by the rules of `read_trace`."""
    stated = {TRACEPARENT: parent.encode()}
    if state is not None:
        stated[TRACESTATE] = state.encode()
    return read_trace(stated)


def join_repeated(
    index: MutableMapping[bytes, bytes], fields: Sequence[tuple[bytes, bytes]]
) -> None:
    """Correct the trace headers in `index`, which has only one value for each header name of a request.
    `fields` has all headers of the request. If the request repeats the tracestate, `index` gets all its
    values, joined. If the request repeats the traceparent, it is removed from `index`."""
    if TRACEPARENT not in index:
        return
    if sum(name == TRACEPARENT for name, _ in fields) > 1:
        del index[TRACEPARENT]
    elif TRACESTATE in index:
        index[TRACESTATE] = b",".join(value for name, value in fields if name == TRACESTATE)


def is_sampled(trace: str) -> bool:
    """Return True if the trace has the sampled flag: the sender of the trace records spans."""
    return bool(int(trace[53:PARENT_LENGTH], 16) & _SAMPLED)


def traceparent(trace: str) -> str:
    """Return the traceparent of a trace."""
    return trace[:PARENT_LENGTH]


def trace_id(trace: str) -> str:
    """Return the id of the trace, 32 hexadecimal digits."""
    return trace[3:35]


def span_id(trace: str) -> str:
    """Return the id of the parent span for new spans, 16 hexadecimal digits."""
    return trace[36:52]


def with_span(trace: str, span: str) -> str:
    """Return the trace with this span as the parent of new spans."""
    return trace[:36] + span + trace[52:]


def attempt_span(delivery: str, number: int) -> str:
    """Return the id of an attempt's span. The id is not stored: it is computed from the delivery's id and
    the attempt's number."""
    return hashlib.blake2b(f"{delivery}:{number}".encode(), digest_size=8).hexdigest()


def lines_of(trace: str) -> bytes:
    """Return the trace's header lines for a request: `traceparent` and, if it exists, `tracestate`."""
    parent, _, state = trace.partition(" ")
    if state:
        return f"traceparent: {parent}\r\ntracestate: {state}\r\n".encode("ascii")
    return f"traceparent: {parent}\r\n".encode("ascii")


def log_fields(trace: str | None) -> dict[str, str]:
    """Return the fields of a log line that belongs to the trace."""
    return {} if trace is None else {"trace_id": trace_id(trace), "span_id": span_id(trace)}


def _parent(value: bytes) -> bytes | None:
    found = _PARENT.fullmatch(value.strip(b" \t"))
    if found is None:
        return None
    version, trace, span, flags, more = found.groups()
    if version == b"ff" or trace == _NO_TRACE or span == _NO_SPAN:
        return None
    if version == b"00" and more is not None:
        return None
    # Later versions are continued as version 00.
    return b"00-%b-%b-%02x" % (trace, span, int(flags, 16) & _KNOWN_FLAGS)


def _state(value: bytes) -> bytes:
    """Return a tracestate without spaces between its members, cut to `STATE_CHARACTERS`. Return an empty
    text if the tracestate is malformed."""
    members = [member for part in value.split(b",") if (member := part.strip(b" \t"))]
    if len(members) > STATE_MEMBERS:  # checked first: a hostile head has thousands
        return b""
    keys = set()
    for member in members:
        found = _MEMBER.fullmatch(member)
        if found is None or found[1] in keys:
            return b""
        keys.add(found[1])
    state = b",".join(members)
    if len(state) > STATE_CHARACTERS:
        members = [member for member in members if len(member) <= LONG_MEMBER]
        while len(state := b",".join(members)) > STATE_CHARACTERS:
            members.pop()
    return state
