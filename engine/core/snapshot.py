"""The snapshot of a destination's state machine: what must survive a restart, as versioned MessagePack.
A snapshot is small, because it is written often.

A snapshot that cannot be decoded is ignored. That does little harm. Waiting deliveries are in the store.
The circuit begins closed: if it was open before the restart, it opens again after some ten failed
attempts.
"""

import msgspec
from msgspec import Struct

from engine.core.counters import CounterState
from engine.core.limit import LimitState

VERSION = 1


class CircuitSnapshot(Struct, array_like=True):
    """The snapshot of an open circuit. A half-open circuit is kept as open. A closed circuit needs no
    snapshot."""

    opened_at: float
    next_probe_at: float
    tries: int
    quiet: bool = False  # only deliveries of Angarium's own events have failed


class FailureRow(Struct, array_like=True):
    """Failures in a row; see `engine.core.failing`."""

    failures: int
    quiet: bool
    silent_since: float | None
    since: float | None
    restarted_at: float | None = None
    began_at: float | None = None


class Snapshot(Struct, kw_only=True, omit_defaults=True):
    """The durable state of one state machine. Instants are seconds since the epoch."""

    version: int = VERSION
    taken_at: float
    circuit: CircuitSnapshot | None = None
    paused_until: float | None = None  # Retry-After
    gone_version: int | None = (
        None  # the configuration that is to be DISABLED, for a 410 or `overdue`
    )
    overdue: bool = False
    blocked_since: float | None = None
    row: FailureRow | None = None
    tokens: float | None = None  # in the bucket of the rate limit, at `taken_at`
    seen: int | None = None  # the version of the configuration at `taken_at`
    counters: CounterState | None = None
    limit: LimitState | None = None  # if the concurrency adapts


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Snapshot)


def encode(snapshot: Snapshot) -> bytes:
    return _encoder.encode(snapshot)


def decode(state: bytes | None) -> Snapshot | None:
    """Return the snapshot that `state` encodes. None: there is no state, or it cannot be decoded."""
    if not state:
        return None
    try:
        snapshot = _decoder.decode(state)
    except msgspec.DecodeError:
        return None
    return snapshot if snapshot.version == VERSION else None
