"""Signing keys of a destination: made, rotated and shown.

After a rotation, requests are signed with both the old key and the new key for some time. During that
time the receiver can change its copy of the key.
"""

from collections.abc import Callable, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from engine.core.destination import SigningKey
from engine.core.vocabulary import SigningAlgorithm
from engine.model.documents import invalid
from engine.model.errors import Refusal
from engine.wire.signing import new_key, public_key_text, secret_bytes, secret_text

GRACE_S = 24 * 3600  # of a retired key, unless the caller says otherwise
OF_ROTATION = ("rotateSecret", "graceSeconds")  # a patch's members about a rotation
MAX_KEYS = 8  # keys that sign at the same time: each adds a signature to every request

Make = Callable[[SigningAlgorithm], bytes]  # a fresh key


class SecretRotation(Struct, frozen=True):
    """A patch's request to rotate the signing keys. `grace_s` is how long the old key signs beside the
    new key. None: the default time."""

    asked: bool = False
    grace_s: int | None = None


def rotation_of(patch: Mapping[str, Any]) -> SecretRotation:
    """Return the rotation that a merge patch asks for."""
    return SecretRotation(patch.get("rotateSecret") is True, patch.get("graceSeconds"))


def first_keys(
    algorithm: SigningAlgorithm, secret: str | None, make: Make = new_key
) -> tuple[SigningKey, ...]:
    """Return the keys of a new destination. `secret` is the text of a secret that the caller chose. If
    `secret` is None, a new key is made. Raises Refusal 400 if the algorithm takes no secret."""
    if secret is None:
        return (SigningKey(algorithm=algorithm, key=make(algorithm)),)
    if algorithm is not SigningAlgorithm.HMAC_SHA256:
        raise invalid("secret", "belongs to the algorithm HMAC_SHA256: leave it out")
    return (SigningKey(algorithm=algorithm, key=secret_bytes(secret)),)


def next_keys(
    keys: tuple[SigningKey, ...],
    algorithm: SigningAlgorithm,
    rotation: SecretRotation,
    *,
    now: float,
    make: Make = new_key,
) -> tuple[SigningKey, ...]:
    """Return the keys after a change. If the change asks for a rotation, or changes the algorithm, a new
    key comes first.

    Raises Refusal 400 if the algorithm changes to HMAC_SHA256 without a rotation: the caller would never
    see the new secret, because only the answer to a rotation shows it. Also raises Refusal 400 if the
    change has a grace time but replaces no key, and 409 if more than MAX_KEYS keys would sign.
    """
    current = keys[0]
    changes = algorithm is not current.algorithm
    if changes and algorithm is SigningAlgorithm.HMAC_SHA256 and not rotation.asked:
        raise invalid("signing.algorithm", "makes a new secret: send rotateSecret true as well")
    if not (changes or rotation.asked):
        if rotation.grace_s is not None:
            raise invalid("graceSeconds", "no secret is replaced: send rotateSecret true as well")
        return keys
    following = SigningKey(algorithm=algorithm, key=make(algorithm))
    grace_s = GRACE_S if rotation.grace_s is None else rotation.grace_s
    if grace_s == 0:
        return (following,)
    previous = tuple(key for key in keys[1:] if key.expires_at is not None and key.expires_at > now)
    if 2 + len(previous) > MAX_KEYS:
        raise Refusal(
            "conflict",
            f"{1 + len(previous)} secrets sign already: wait for one to end, or send graceSeconds 0",
        )
    retired = msgspec.structs.replace(current, expires_at=now + grace_s)
    return (following, retired, *previous)


def shown_secret(key: SigningKey) -> str | None:
    """Return the text of a shared secret; None for Ed25519, whose private key is never shown."""
    return None if key.algorithm is SigningAlgorithm.ED25519 else secret_text(key)


def public_key_texts(keys: tuple[SigningKey, ...], now: float) -> tuple[str | None, str | None]:
    """Return the current public key and the previous one as texts. A key that is missing is None."""
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
