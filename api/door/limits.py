"""The deadlines and bounds of the front door, each with its reason."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Limits:
    """Seconds and counts; the contract states the first three."""

    head_s: float = 15.0  # from its first byte (or from the accept) to its end
    body_s: float = 30.0  # of waiting for the client, the application's own time not counted
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
SLICE_BYTES = 64 * 1024  # of a streamed answer written at a time, and of a body held for the app
NO_WORKSPACE = (
    ""  # the account that bodies of passed requests draw on: whose they are is not known here
)
