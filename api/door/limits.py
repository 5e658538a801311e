"""The deadlines and bounds of the front door, each with its reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts; the contract states the first three."""

    head_s: float = 15.0  # from its first byte (or from the accept) to its end
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
    drain_bytes: int = 64 * 1024  # of a refused body; more is cheaper cut off than read
    rest_s: float = 0.1  # of the listener when descriptors are used up
    connections: int = 4_096  # the inbound share of the descriptor limit
    overflow: int = 32  # connections beyond that which are told 503 at a time


LIMITS = Limits()
# Of a streamed answer written at a time, and of a body held for the application.
SLICE_BYTES = 64 * 1024
NO_WORKSPACE = (
    ""  # the account that bodies of passed requests draw on: whose they are is not known here
)
