"""The deadlines and bounds of the front door, each with its reason."""

import resource
from dataclasses import dataclass, replace


@dataclass(frozen=True, slots=True)
class Limits:
    """The limits of the door, in seconds and counts. The specification of Angarium fixes `head_s` and
    `body_s`: do not change these two."""

    head_s: float = 15.0  # from a head's first byte (or from the accept) to its end
    # The time for a TLS handshake, from its first step. When this time is over and another client waits
    # to begin a handshake, the door closes the handshake. A client on a satellite link needs a second.
    # If the time were 15 s, a few networks whose clients stall could keep all other clients waiting.
    handshake_s: float = 2.0
    body_s: float = 30.0  # of waiting for the client, without the application's own time
    # After `stream_grace_s`, a streamed body must come at a mean rate of `stream_floor` bytes a second. A
    # modem (56 kbit/s) is three times as fast. If `body_s` were the only limit, a client that sends one
    # byte every 29 s could keep a request open for years.
    stream_grace_s: float = 60.0
    stream_floor: int = 2_048
    idle_s: float = 75.0  # between requests; proxies close first, usually after 60 s
    write_s: float = 30.0  # for the client to take a slice (64 KiB at most)
    # The time between the half-close after an answer and the close. The close can reset the connection,
    # and a reset can destroy an answer that the client has not read yet.
    linger_s: float = 1.0
    drain_bytes: int = 64 * 1024  # of a refused body; beyond that, closing is cheaper
    rest_s: float = 0.1  # the pause of a listener when descriptors have run out
    connections: int = 4_096  # the inbound share of the descriptor limit
    overflow: int = 32  # connections beyond `connections` that get the answer 503 at a time
    # The most bytes of a refused HTTP/2 body that the door reads before it resets the stream. A client
    # whose stream is reset before the body's end can lose the answer (Node.js always does).
    http2_drain_bytes: int = 1024 * 1024
    # A client can open and reset this many requests on one connection in a burst (CVE-2023-44487). After
    # the burst, the client can continue at the rate of `http2_resets_a_second`.
    http2_resets: int = 200
    http2_resets_a_second: float = 10.0
    # The CPU that a client can use up with frames that bring no useful work: 4,000 units of 25 us
    # (`api.door.http2_frames`), together 0.1 s. Each second restores 20 units (0.5 ms of CPU). That is
    # enough for the pings of a client that only waits.
    http2_credit: int = 4_000
    http2_credit_a_second: float = 20.0
    # The door aborts an answer if the client does not take a slice of it within `write_s`. It closes the
    # connection after this many aborted answers, if the client has taken nothing in between. A client
    # can forget to read one answer, but not eight.
    http2_stalls: int = 8
    # The window of a streamed upload. It allows 10 MB/s over a round trip of 100 ms. An upload gets this
    # window only if the budget of bodies has room for several such windows. Otherwise its window is
    # 64 KiB, as for all requests.
    http2_upload_bytes: int = 1024 * 1024


LIMITS = Limits()
# The most bytes of an answer that the door writes at a time, and the most bytes of a body that the door
# gives to the application at a time.
SLICE_BYTES = 64 * 1024
# Many clients can share one answer in memory, such as a page. The door writes a shared answer in slices
# of at most this many bytes. For each client it copies only one slice at a time, not the whole answer.
PAGE_SLICE_BYTES = 16 * 1024
NO_WORKSPACE = ""  # the account of passed requests' bodies: the door does not know their workspace


def limits_for(share: float) -> Limits:
    """Return the limits for this process. Clients' connections get the fraction `share` of the process's
    file descriptors."""
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY:
        return LIMITS
    connections = max(int(soft * share) - LIMITS.overflow, 1)
    return replace(LIMITS, connections=connections)
