"""Signatures, verified with libraries that are not ours."""

import base64
import json
from datetime import datetime, tzinfo

import pytest
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from engine.core.destination import SigningKey
from engine.core.vocabulary import SigningAlgorithm
from engine.wire.signing import (
    Signer,
    new_key,
    public_key_text,
    secret_text,
)

HMAC, ED25519 = SigningAlgorithm.HMAC_SHA256, SigningAlgorithm.ED25519
NOW = 1_790_000_000.0
BODY = '{"type":"order.created","data":{"n":1,"é":"✓"}}'.encode()


def new_secret(algorithm: SigningAlgorithm) -> tuple[SigningKey, str]:
    key = SigningKey(algorithm=algorithm, key=new_key(algorithm))
    return key, secret_text(key)


class Frozen(datetime):
    """A clock that stands still at NOW, the time of all signatures here. The library with which receivers
    verify signatures gets this clock, because the library refuses old timestamps."""

    @classmethod
    def now(cls, tz: tzinfo | None = None) -> "Frozen":
        return cls.fromtimestamp(NOW, tz)


@pytest.fixture(autouse=True)
def receivers_clock(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("standardwebhooks.webhooks.datetime", Frozen)


def header(*keys: SigningKey, now: float = NOW, body: bytes = BODY) -> str:
    return Signer(keys).header(b"msg_1.%d.%b" % (int(now), body), now).decode()


def verify(secret: str, signature: str, body: bytes = BODY) -> object:
    headers = {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(int(NOW)),
        "webhook-signature": signature,
    }
    return Webhook(secret).verify(body, headers)


def test_the_standard_library_of_receivers_verifies_v1() -> None:
    key, secret = new_secret(HMAC)
    assert secret.startswith("whsec_")
    assert verify(secret, header(key)) == json.loads(BODY)


@pytest.mark.parametrize("length", [24, 32, 63, 64, 65, 200])
def test_a_key_of_any_length_is_hmac(length: int) -> None:
    key = SigningKey(algorithm=HMAC, key=bytes(range(length)))
    assert verify(secret_text(key), header(key)) is not None


@pytest.mark.parametrize("change", ["body", "key"])
def test_a_changed_body_or_another_key_is_noticed(change: str) -> None:
    key, secret = new_secret(HMAC)
    signature = header(key)
    if change == "key":
        secret = new_secret(HMAC)[1]
    with pytest.raises(WebhookVerificationError):
        verify(secret, signature, BODY + b" " if change == "body" else BODY)


def test_ed25519_is_verified_with_the_public_key_text() -> None:
    key, secret = new_secret(ED25519)
    assert secret.startswith("whsk_")
    text = public_key_text(key)
    assert text is not None
    version, signature = header(key).split(",")
    assert version == "v1a"
    public = Ed25519PublicKey.from_public_bytes(base64.b64decode(text.removeprefix("whpk_")))
    signed = b"msg_1.%d.%b" % (int(NOW), BODY)
    public.verify(base64.b64decode(signature), signed)
    with pytest.raises(InvalidSignature):
        public.verify(base64.b64decode(signature), signed + b" ")


def test_a_rotated_key_signs_too_until_it_expires() -> None:
    (new, new_text), (old, old_text) = new_secret(HMAC), new_secret(HMAC)
    old = SigningKey(algorithm=HMAC, key=old.key, expires_at=NOW + 10)
    both = header(new, old)
    assert [part.split(",")[0] for part in both.split(" ")] == ["v1", "v1"]
    verify(new_text, both)
    verify(old_text, both)
    after = header(new, old, now=NOW + 10)
    assert " " not in after


def test_keys_of_both_kinds_sign_side_by_side_while_the_algorithm_changes() -> None:
    new, _ = new_secret(ED25519)
    old, old_text = new_secret(HMAC)
    old = SigningKey(algorithm=HMAC, key=old.key, expires_at=NOW + 10)
    both = header(new, old)
    assert [part.split(",")[0] for part in both.split(" ")] == ["v1a", "v1"]
    verify(old_text, both)


def test_without_a_valid_key_nothing_is_signed() -> None:
    expired = SigningKey(algorithm=HMAC, key=b"k" * 32, expires_at=NOW - 1)
    for keys in ((), (expired,)):
        with pytest.raises(ValueError, match="no valid signing key"):
            header(*keys)


@pytest.mark.parametrize(
    "key", [SigningKey(algorithm=HMAC, key=b""), SigningKey(algorithm=ED25519, key=b"short")]
)
def test_a_damaged_key_is_noticed_when_it_is_prepared(key: SigningKey) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - the second is the library's wording
        Signer([key])


@pytest.mark.parametrize(("algorithm", "prefix"), [(HMAC, "whsec_"), (ED25519, "whsk_")])
def test_the_text_of_a_secret_is_its_key(algorithm: SigningAlgorithm, prefix: str) -> None:
    key, text = new_secret(algorithm)
    assert text.startswith(prefix)
    assert base64.b64decode(text.removeprefix(prefix), validate=True) == key.key


def test_an_hmac_key_has_no_public_half() -> None:
    assert public_key_text(new_secret(HMAC)[0]) is None
