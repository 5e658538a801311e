"""The deadlines and bounds of the front door, each with its reason."""

import resource
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the door, in seconds and counts. The specification fixes `head_s` and `body_s`."""

    head_s: float = 15.0  # from a head's first byte (or from the accept) to its end
    # The time for a TLS handshake, from its first step. A longer handshake is closed if another client
    # waits. Its two round trips take a second by satellite. If the limit were 15 s, as for `head_s`,
    # stalling clients of a few networks could keep all others waiting.
    handshake_s: float = 2.0
    body_s: float = 30.0  # of waiting for the client, without the application's own time
    # After `stream_grace_s`, a streamed body must come at a mean rate of `stream_floor` bytes a second. A
    # modem of 56 kbit/s has three times that rate. With `body_s` alone, a client that sends a byte every
    # 29 s could keep a request open for years.
    stream_grace_s: float = 60.0
    stream_floor: int = 2_048
    idle_s: float = 75.0  # between requests; proxies close first, usually after 60 s
    write_s: float = 30.0  # for the client to take a slice (64 KiB at most)
    # The time from the half-close after an answer to the close. A close can reset the connection, and the
    # client must read its answer before that.
    linger_s: float = 1.0
    drain_bytes: int = 64 * 1024  # of a refused body; beyond that, closing is cheaper
    rest_s: float = 0.1  # the pause of a listener when descriptors have run out
    connections: int = 4_096  # the inbound share of the descriptor limit
    overflow: int = 32  # connections beyond that number that get 503 at a time
    # The limit on the bytes that the door reads of a refused HTTP/2 body. If the door resets the
    # stream before the body's end, the client can lose the answer (Node.js always does).
    http2_drain_bytes: int = 1024 * 1024
    # The limits on requests that a client opens and resets on one connection (CVE-2023-44487): the
    # number that can come in a burst, and the rate after it.
    http2_resets: int = 200
    http2_resets_a_second: float = 10.0
    # The limit on the cost of a client's frames that bring no useful work: 4,000 units of 25 us of CPU
    # (`api.door.http2_frames`), which is 0.1 s. Each second restores 20 units, 1/2,000 of a processor:
    # enough for the pings of a client that only waits.
    http2_credit: int = 4_000
    http2_credit_a_second: float = 20.0
    # A connection ends after this many successive answers that were aborted because the client took
    # nothing for `write_s`. A client can forget to read one answer, but not eight.
    http2_stalls: int = 8
    # The window of a streamed upload, if the budget of bodies has room for several of them: 10 MB/s
    # over a round trip of 100 ms. Otherwise an upload has the 64 KiB of every request.
    http2_upload_bytes: int = 1024 * 1024


LIMITS = Limits()
# Bytes of an answer written at a time, and of a body given to the application at a time.
SLICE_BYTES = 64 * 1024
# The same for an answer that many clients share in memory: each client holds only a copy of the slice
# that it has not read yet.
PAGE_SLICE_BYTES = 16 * 1024
NO_WORKSPACE = ""  # the account of passed requests' bodies: the door does not know their workspace


def limits_for(share: float) -> Limits:
    """Return the limits with the number of connections that this share of the file descriptors allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return LIMITS
    connections = max(int(soft * share) - LIMITS.overflow, 1)
    return replace(LIMITS, connections=connections)
