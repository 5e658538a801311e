"""The deadlines and bounds of the front door, each with its reason."""

import resource
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts. `head_s` and `body_s` are part of the specified behaviour."""

    head_s: float = 15.0  # from its first byte (or from the accept) to its end
    # From the first step of a TLS handshake on, while others wait for its place. Two ways to and fro take
    # a second by satellite, and few networks of clients that stall could hold all places for `head_s`.
    handshake_s: float = 2.0
    body_s: float = 30.0  # of waiting for the client, the application's own time not counted
    # Of a body that is streamed: 30 s is what may pass without a byte. Whoever sends a byte every 29 s
    # would keep a place for years: after a minute no less than 2 KiB/s in the mean, a tenth of a modem.
    stream_grace_s: float = 60.0
    stream_floor: int = 2_048
    idle_s: float = (
        75.0  # between requests; above the usual 60 s of proxies, so that they close first
    )
    write_s: float = 30.0  # for what was sent at once (64 KiB at most) to be taken
    linger_s: float = 1.0  # after a half-close, so that the client reads its answer before a reset
    drain_bytes: int = 64 * 1024  # of a refused body; beyond it, closing is cheaper than reading
    rest_s: float = 0.1  # of the listener when descriptors are used up
    connections: int = 4_096  # the inbound share of the descriptor limit
    overflow: int = 32  # connections beyond that which are told 503 at a time
    # HTTP/2. Clients send all of a body that they began, and lose the answer where a stream is cut off in
    # it (node's every time): of a refused one this much is read.
    http2_drain_bytes: int = 1024 * 1024
    # Requests that a client may open and reset on one connection (CVE-2023-44487): a number at once,
    # and a rate over time, so that a few resets each hour do not end a connection that is kept for weeks.
    http2_resets: int = 200
    http2_resets_a_second: float = 10.0
    # Frames that a client may send for nothing, in units of 25 us of our CPU (`api.door.http2_frames`):
    # 0.1 s at once. Time gives back one part in 2,000 of a processor: pings of a client that only waits.
    http2_credit: int = 4_000
    http2_credit_a_second: float = 20.0
    # Answers on one connection that were given up in a row because nothing was taken for `write_s`. A
    # client may forget one of them; a client that takes none does not read.
    http2_stalls: int = 8
    # The window of an upload that is streamed, where the budget of bodies has room for several of them:
    # 10 MB/s over a way of 100 ms. Else it has the 64 KiB that every request has.
    http2_upload_bytes: int = 1024 * 1024


LIMITS = Limits()
# Of a streamed answer written at a time, and of a body held for the application.
SLICE_BYTES = 64 * 1024
# The same of a page that the door has in memory once for all: what a client leaves lying is a copy.
PAGE_SLICE_BYTES = 16 * 1024
NO_WORKSPACE = ""  # the account of passed requests' bodies: the door does not know their workspace


def limits_for(share: float) -> Limits:
    """Return the limits for the number of connections that the inbound share of descriptors allows."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return LIMITS
    connections = max(int(soft * share) - LIMITS.overflow, 1)
    return replace(LIMITS, connections=connections)
