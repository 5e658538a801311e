"""Signing keys of a destination: made, rotated and shown.

A retired key signs beside the current one for 24 hours, so that a receiver has time to change its copy.
"""

from collections.abc import Callable

import msgspec

from engine.core.destination import SigningKey
from engine.core.vocabulary import SigningAlgorithm
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.wire.signing import new_key, public_key_text, secret_text

GRACE_S = 24 * 3600.0
MAX_KEYS = 8  # each adds a signature to every request: more rotations a day are refused

Make = Callable[[SigningAlgorithm], bytes]  # a fresh key


def first_keys(algorithm: SigningAlgorithm, make: Make = new_key) -> tuple[SigningKey, ...]:
    """Return the keys of a new destination."""
    return (SigningKey(algorithm=algorithm, key=make(algorithm)),)


def next_keys(
    keys: tuple[SigningKey, ...],
    algorithm: SigningAlgorithm,
    *,
    rotate: bool,
    now: float,
    make: Make = new_key,
) -> tuple[SigningKey, ...]:
    """Return the keys after a change: a new one in front when asked for or when the algorithm changes.

    Raises Refusal 400 where the new secret would never be shown, 409 after too many rotations a day.
    """
    current = keys[0]
    changes = algorithm is not current.algorithm
    if changes and algorithm is SigningAlgorithm.HMAC_SHA256 and not rotate:
        raise invalid("signing.algorithm", "makes a new secret: send rotateSecret true as well")
    if not (changes or rotate):
        return keys
    previous = tuple(key for key in keys[1:] if key.expires_at is not None and key.expires_at > now)
    if 2 + len(previous) > MAX_KEYS:
        raise Refusal(
            "conflict",
            f"the secret was rotated {len(previous) + 1} times within 24 hours: wait for one to end",
        )
    retired = msgspec.structs.replace(current, expires_at=now + GRACE_S)
    return (SigningKey(algorithm=algorithm, key=make(algorithm)), retired, *previous)


def shown_secret(key: SigningKey) -> str | None:
    """Return the text of a shared secret; None for Ed25519, whose private key never leaves."""
    return None if key.algorithm is SigningAlgorithm.ED25519 else secret_text(key)


def public_key_texts(keys: tuple[SigningKey, ...], now: float) -> tuple[str | None, str | None]:
    """Return the current and the previous public key as text, each None where there is none."""
    current = public_key_text(keys[0])
    previous = next(
        (
            public_key_text(key)
            for key in keys[1:]
            if key.algorithm is SigningAlgorithm.ED25519
            and key.expires_at is not None
            and key.expires_at > now
        ),
        None,
    )
    return current, previous
