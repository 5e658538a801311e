"""The verification of received webhooks (Standard Webhooks, `v1` and `v1a`). No network, no state."""

import base64
import binascii
import hashlib
import hmac
import json
import time
from collections.abc import Iterable, Sequence
from typing import Any, Protocol, cast

from angarium.errors import VerificationError

TOLERANCE_S = 300.0  # Standard Webhooks recommends five minutes, for clocks and queues
MAX_SIGNATURES = (
    8  # the service sends at most two; a forger could send many, at 0.1 ms for an Ed25519 check
)
ED25519_KEY_BYTES = 32

_SECRET = "whsec_"  # noqa: S105 - a prefix
_PUBLIC_KEY = "whpk_"


class HasItems(Protocol):
    """A mapping, or the headers of the standard library or a web framework."""

    def items(self) -> Iterable[tuple[str, str]]:
        """Return pairs of name and value."""


Headers = HasItems | Iterable[tuple[str, str]]


def verify(
    body: bytes | str,
    headers: Headers,
    secret: str | Sequence[str],
    *,
    tolerance_s: float = TOLERANCE_S,
    now: float | None = None,
) -> Any:
    """Return the webhook's JSON if it is genuine and fresh; raise VerificationError otherwise.

    `body` must be the exact received bytes, before any parsing. `headers` is a mapping or a list of
    pairs, with names in any case. `secret` is the destination's `whsec_...`, or its public key
    `whpk_...` (needs `cryptography`), or several of them during a rotation. Each attempt has a new
    signature, so a signature older than `tolerance_s` is a copy that an attacker sends.

    The header `webhook-id` is the same for every attempt. Store the id once the event is handled, and
    ignore webhooks whose id is stored. A replay by the service has the same id, so it is ignored,
    too.

    Raises ValueError for an invalid secret: a mistake in the receiver, not in a webhook.
    """
    keys = _keys(secret)
    raw = _encoded(body, "the body") if isinstance(body, str) else bytes(body)
    message_id, timestamp, signatures = _signed_headers(headers)
    _check_age(timestamp, tolerance_s, time.time() if now is None else now)
    identifier = _encoded(message_id, "the header webhook-id")
    content = b".".join((identifier, timestamp.encode(), raw))
    if not any(_matches(key, content, signatures) for key in keys):
        raise VerificationError("no signature matches: wrong secret, or the body was changed")
    try:
        return json.loads(raw)
    except ValueError as error:
        raise VerificationError(f"signed, but the body is no JSON: {error}") from None


def sign(body: bytes, secret: str, message_id: str, timestamp: int) -> str:
    """Return the `v1` signature of a body, as the service makes it, for a receiver's tests."""
    prefix, key = _key(secret)
    if prefix != _SECRET:
        raise ValueError("a public key cannot sign")
    return (
        "v1,"
        + base64.b64encode(
            _digest(key, b"%b.%d.%b" % (message_id.encode(), timestamp, body))
        ).decode()
    )


def _digest(key: bytes, content: bytes) -> bytes:
    return hmac.digest(key, content, hashlib.sha256)


def _keys(secret: str | Sequence[str]) -> list[tuple[str, bytes]]:
    secrets = [secret] if isinstance(secret, str) else list(secret)
    if not secrets:
        raise ValueError("no secret to verify with")
    return [_key(text) for text in secrets]


def _key(text: str) -> tuple[str, bytes]:
    text = text.strip()  # the content of a file can end with a newline
    prefix = _PUBLIC_KEY if text.startswith(_PUBLIC_KEY) else _SECRET
    encoded = text.removeprefix(prefix)
    try:
        key = base64.b64decode(encoded + "=" * (-len(encoded) % 4), validate=True)
    except (binascii.Error, ValueError):
        raise ValueError(f"a secret is `{prefix}` and base64") from None
    if not key or (prefix == _PUBLIC_KEY and len(key) != ED25519_KEY_BYTES):
        raise ValueError("the secret's key has a wrong length")
    return prefix, key


def _signed_headers(headers: Headers) -> tuple[str, str, list[tuple[str, bytes]]]:
    pairs = cast(HasItems, headers).items() if hasattr(headers, "items") else headers
    found = {name.lower(): value for name, value in pairs}
    try:
        message_id = found["webhook-id"]
        timestamp = found["webhook-timestamp"]
        signature = found["webhook-signature"]
    except KeyError as error:
        raise VerificationError(f"the header {error.args[0]} is missing") from None
    signatures: list[tuple[str, bytes]] = []
    for part in signature.split(" ")[:MAX_SIGNATURES]:
        version, _, encoded = part.partition(",")
        try:
            signatures.append((version, base64.b64decode(encoded, validate=True)))
        except (binascii.Error, ValueError):
            continue
    return message_id, timestamp, signatures


def _encoded(text: str, what: str) -> bytes:
    try:
        return text.encode()
    except UnicodeEncodeError:  # frameworks make surrogates of bytes that are not UTF-8
        raise VerificationError(f"{what} is no text") from None


def _check_age(timestamp: str, tolerance_s: float, now: float) -> None:
    if not (timestamp.isascii() and timestamp.isdigit() and len(timestamp) <= 12):
        raise VerificationError("the header webhook-timestamp is no number of seconds")
    age = now - int(timestamp)
    if age > tolerance_s:
        raise VerificationError(f"signed {age:.0f} s ago: too old")
    if -age > tolerance_s:
        raise VerificationError(f"signed {-age:.0f} s in the future: check the clock")


def _matches(key: tuple[str, bytes], content: bytes, signatures: list[tuple[str, bytes]]) -> bool:
    kind, material = key
    if kind == _SECRET:
        expected = _digest(material, content)
        return any(
            version == "v1" and hmac.compare_digest(expected, signature)
            for version, signature in signatures
        )
    return any(
        version == "v1a" and _ed25519_valid(material, content, signature)
        for version, signature in signatures
    )


def _ed25519_valid(public_key: bytes, content: bytes, signature: bytes) -> bool:
    try:
        from cryptography.exceptions import InvalidSignature
        from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
    except ImportError:
        raise ImportError(
            "a public key (whpk_...) needs cryptography: install angarium-client[ed25519]"
        ) from None
    try:
        Ed25519PublicKey.from_public_bytes(public_key).verify(signature, content)
    except InvalidSignature:
        return False
    return True
