"""The receiver: it accepts only what its destination's key signed, recently and unchanged."""

import base64
import json
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from email.message import Message

import pytest
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey
from standardwebhooks import Webhook

import angarium

SECRET = "whsec_" + base64.b64encode(b"k" * 32).decode()
OTHER = "whsec_" + base64.b64encode(b"o" * 24).decode()
NOW = 1_790_000_000
BODY = b'{"type":"order.created","data":{"n":123456789012345678901234567890}}'


def headers(signature: str, timestamp: object = NOW) -> dict[str, str]:
    return {
        "webhook-id": "msg_1",
        "webhook-timestamp": str(timestamp),
        "webhook-signature": signature,
    }


def genuine(secret: str = SECRET) -> str:
    return angarium.sign(BODY, secret, "msg_1", NOW)


def test_a_genuine_webhook_gives_its_json() -> None:
    assert angarium.verify(BODY, headers(genuine()), SECRET, now=NOW) == json.loads(BODY)


def test_our_signature_is_that_of_the_reference_package() -> None:
    reference = Webhook(SECRET).sign("msg_1", datetime.fromtimestamp(NOW, tz=UTC), BODY.decode())
    assert genuine() == reference


@pytest.mark.parametrize("spell", [str.title, str.upper, str.lower])
def test_header_names_are_taken_in_any_case(spell: Callable[[str], str]) -> None:
    spelled = {spell(name): value for name, value in headers(genuine()).items()}
    angarium.verify(BODY, spelled, SECRET, now=NOW)
    angarium.verify(BODY, list(spelled.items()), SECRET, now=NOW)


def test_the_standard_librarys_headers_and_a_secret_read_from_a_file_are_taken() -> None:
    message = Message()
    for name, value in headers(genuine()).items():
        message[name] = value
    angarium.verify(BODY, message, SECRET + "\n", now=NOW)


@pytest.mark.parametrize(
    ("signature", "secrets"),
    [
        (genuine(OTHER) + " " + genuine(), [SECRET]),
        (genuine(), [OTHER, SECRET]),
        ("v2,AAAA nonsense v1,*** " + genuine(), [SECRET]),
    ],
    ids=["two signatures", "two secrets", "among unknown ones"],
)
def test_one_matching_pair_is_enough(signature: str, secrets: list[str]) -> None:
    angarium.verify(BODY, headers(signature), secrets, now=NOW)


@pytest.mark.parametrize(
    ("changed", "why"),
    [
        ({"webhook-signature": genuine(OTHER)}, "no signature matches"),
        ({"webhook-signature": genuine().replace("v1,", "v2,")}, "no signature matches"),
        ({"webhook-signature": "v1," + "x" * 44}, "no signature matches"),
        ({"webhook-signature": ""}, "no signature matches"),
        ({"webhook-signature": "v9,AAAA " * 16 + genuine()}, "no signature matches"),
        ({"webhook-id": "msg_2"}, "no signature matches"),
        ({"webhook-timestamp": str(NOW + 1)}, "no signature matches"),
        ({"webhook-timestamp": "soon"}, "no number"),
        ({"webhook-timestamp": "-5"}, "no number"),
        ({"webhook-timestamp": "1e9"}, "no number"),
        ({"webhook-timestamp": "٣"}, "no number"),
        ({"webhook-timestamp": "9" * 400}, "no number"),
    ],
)
def test_a_changed_header_is_refused(changed: dict[str, str], why: str) -> None:
    with pytest.raises(angarium.VerificationError, match=why):
        angarium.verify(BODY, headers(genuine()) | changed, SECRET, now=NOW)


@pytest.mark.parametrize("name", ["webhook-id", "webhook-timestamp", "webhook-signature"])
def test_a_missing_header_is_named(name: str) -> None:
    given = headers(genuine())
    del given[name]
    with pytest.raises(angarium.VerificationError, match=name):
        angarium.verify(BODY, given, SECRET, now=NOW)


def test_every_changed_byte_of_the_body_is_noticed() -> None:
    for position in range(len(BODY)):
        changed = bytearray(BODY)
        changed[position] ^= 1
        with pytest.raises(angarium.VerificationError):
            angarium.verify(bytes(changed), headers(genuine()), SECRET, now=NOW)


@pytest.mark.parametrize(
    ("now", "trusted"),
    [(NOW + 300, True), (NOW + 301, False), (NOW - 300, True), (NOW - 301, False)],
)
def test_what_is_older_or_newer_than_five_minutes_is_refused(now: float, trusted: bool) -> None:
    if trusted:
        angarium.verify(BODY, headers(genuine()), SECRET, now=now)
    else:
        with pytest.raises(angarium.VerificationError, match=r"ago|future"):
            angarium.verify(BODY, headers(genuine()), SECRET, now=now)


def test_a_signed_body_that_is_no_json_is_refused() -> None:
    signature = angarium.sign(b"hello", SECRET, "msg_1", NOW)
    with pytest.raises(angarium.VerificationError, match="no JSON"):
        angarium.verify(b"hello", headers(signature), SECRET, now=NOW)


def ed25519() -> tuple[str, str]:
    key = Ed25519PrivateKey.from_private_bytes(b"s" * 32)
    public = "whpk_" + base64.b64encode(key.public_key().public_bytes_raw()).decode()
    signature = key.sign(b"msg_1.%d.%b" % (NOW, BODY))
    return public, "v1a," + base64.b64encode(signature).decode()


def test_a_public_key_verifies_v1a() -> None:
    public, signature = ed25519()
    angarium.verify(BODY, headers(signature), public, now=NOW)
    angarium.verify(BODY, headers(signature + " " + genuine()), [SECRET, public], now=NOW)
    with pytest.raises(angarium.VerificationError):
        angarium.verify(BODY + b" ", headers(signature), public, now=NOW)


def test_a_public_key_never_verifies_an_hmac() -> None:
    public, _ = ed25519()
    forged = angarium.sign(BODY, "whsec_" + public.removeprefix("whpk_"), "msg_1", NOW)
    for version in ("v1", "v1a"):
        with pytest.raises(angarium.VerificationError):
            angarium.verify(BODY, headers(forged.replace("v1,", version + ",")), public, now=NOW)


def test_without_cryptography_a_public_key_says_what_to_install(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "cryptography.exceptions", None)
    public, signature = ed25519()
    with pytest.raises(ImportError, match=r"angarium-client\[ed25519\]"):
        angarium.verify(BODY, headers(signature), public, now=NOW)


@pytest.mark.parametrize("secret", ["", "whsec_", "whsec_!!", "whpk_AAAA", [], "not a secret"])
def test_a_secret_that_is_none_is_the_receivers_mistake(secret: str | list[str]) -> None:
    with pytest.raises(ValueError, match="secret") as raised:
        angarium.verify(BODY, headers(genuine()), secret, now=NOW)
    assert not isinstance(raised.value, angarium.VerificationError)


def test_a_public_key_cannot_sign() -> None:
    with pytest.raises(ValueError, match="cannot sign"):
        angarium.sign(BODY, ed25519()[0], "msg_1", NOW)
