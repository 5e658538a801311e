"""The authentication of destinations: accepted values, shown values, and the values that a
patch keeps."""

import datetime
from typing import Any

import trustme
from cryptography import x509
from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat
from cryptography.x509.oid import NameOID

from tests.api.house import HOOK, Caller, House
from tests.cases import each_case

BASIC = {"kind": "BASIC", "username": "u", "password": "pä$$"}
BEARER = {"kind": "BEARER", "token": "t0ken"}
OAUTH2 = {
    "kind": "OAUTH2_CLIENT_CREDENTIALS",
    "tokenUrl": "https://93.184.216.34/token",
    "clientId": "c",
    "clientSecret": "s3cret",
}
AUTHORITY = trustme.CA()
IDENTITY = AUTHORITY.issue_cert("client.example")
OTHER = AUTHORITY.issue_cert("other.example")
OTHER_KEY = OTHER.private_key_pem.bytes().decode()
MTLS = {
    "kind": "MTLS",
    "certificate": b"".join(blob.bytes() for blob in IDENTITY.cert_chain_pems).decode(),
    "privateKey": IDENTITY.private_key_pem.bytes().decode(),
}
SECRETS = {"BASIC": "password", "BEARER": "token", "MTLS": "privateKey",
           "OAUTH2_CLIENT_CREDENTIALS": "clientSecret"}  # fmt: skip
ALL = [BASIC, BEARER, OAUTH2, MTLS]
ELSEWHERE = "https://93.184.216.35/hooks"


async def make(api: Caller, **fields: Any) -> dict[str, Any]:
    response = await api("POST", "/destinations", {"name": "Orders", "url": HOOK, **fields})
    assert response.status == 201, response.body
    return dict(response.json)


def expired() -> dict[str, str]:
    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "old")])
    day = datetime.timedelta(days=1)
    now = datetime.datetime.now(datetime.UTC)
    certificate = (
        x509.CertificateBuilder().subject_name(name).issuer_name(name).public_key(key.public_key())
        .serial_number(1).not_valid_before(now - 2 * day).not_valid_after(now - day)
        .sign(key, hashes.SHA256())
    )  # fmt: skip
    return {
        "kind": "MTLS",
        "certificate": certificate.public_bytes(Encoding.PEM).decode(),
        "privateKey": key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption()).decode(),
    }


@each_case("given", ALL)
async def test_an_authentication_is_shown_without_its_secret(
    api: Caller, house: House, given: dict[str, Any]
) -> None:
    made = await make(api, method="PUT", disableAfterSeconds=3600, authentication=given)
    secret = SECRETS[given["kind"]]
    shown = (await api("GET", f"/destinations/{made['id']}")).json
    assert shown["authentication"].items() >= (given | {secret: "***"}).items()
    assert (shown["method"], shown["disableAfterSeconds"]) == ("PUT", 3600)
    audited = await api("GET", "/audit-logs")
    for text in (audited.body, (await api("GET", "/destinations")).body):
        assert given[secret].encode() not in text
    stored = await house.bridge.pool.fetch(
        "SELECT authentication, headers, sealed FROM destinations WHERE id = $1::uuid", made["id"]
    )
    assert given[secret].encode() not in b"".join(bytes(value) for value in stored[0].values())
    same = await api(
        "PATCH", f"/destinations/{made['id']}", {"authentication": shown["authentication"]}
    )
    assert same.json["updatedAt"] == shown["updatedAt"], "what is shown, sent back, changes nothing"
    removed = await api("PATCH", f"/destinations/{made['id']}", {"authentication": None})
    assert removed.json["authentication"] is None


@each_case("given", ALL)
async def test_a_secret_does_not_follow_to_another_host(api: Caller, given: dict[str, Any]) -> None:
    made = await make(api, authentication=given)
    path, secret = f"/destinations/{made['id']}", SECRETS[given["kind"]]
    refused = await api("PATCH", path, {"url": ELSEWHERE})
    assert refused.status == 400, refused.body
    assert refused.json["details"][0]["path"] == f"authentication.{secret}"
    masked = {"url": ELSEWHERE, "authentication": {secret: "***"}}
    assert (await api("PATCH", path, masked)).status == 400
    anew = await api("PATCH", path, {"url": ELSEWHERE, "authentication": {secret: given[secret]}})
    assert anew.status == 200, anew.body
    assert (await api("PATCH", path, {"url": f"{ELSEWHERE}/2"})).status == 200, "the same host"


async def test_a_client_secret_does_not_follow_to_another_token_endpoint(api: Caller) -> None:
    made = await make(api, authentication=OAUTH2)
    path = f"/destinations/{made['id']}"
    moved = {"tokenUrl": "https://93.184.216.36/token"}
    refused = await api("PATCH", path, {"authentication": moved})
    assert (refused.status, refused.json["details"][0]["path"]) == (
        400,
        "authentication.clientSecret",
    )
    anew = await api("PATCH", path, {"authentication": moved | {"clientSecret": "s"}})
    assert anew.json["authentication"]["tokenUrl"] == moved["tokenUrl"]
    kept = await api("PATCH", path, {"authentication": {"scope": "a b"}})
    assert kept.json["authentication"]["scope"] == "a b"
    assert kept.json["authentication"]["clientId"] == "c", "a patch merges"


async def test_another_kind_replaces_all_of_an_authentication(api: Caller) -> None:
    made = await make(api, authentication=OAUTH2)
    path = f"/destinations/{made['id']}"
    changed = await api("PATCH", path, {"authentication": BASIC})
    assert changed.json["authentication"] == {**BASIC, "password": "***"}
    masked = await api("PATCH", path, {"authentication": {"kind": "BEARER", "token": "***"}})
    assert masked.status == 400


@each_case(
    ("fields", "path"),
    [
        ({"method": "GET"}, "method"),
        ({"disableAfterSeconds": 0}, "disableAfterSeconds"),
        ({"authentication": {"kind": "NTLM"}}, "authentication"),
        ({"authentication": {**BASIC, "username": "a:b"}}, "authentication.username"),
        ({"authentication": {**BEARER, "token": "two words"}}, "authentication.token"),
        ({"authentication": {**BEARER, "BEARER": 1}}, "authentication.BEARER"),
        ({"authentication": {"kind": "BEARER"}}, "authentication.token"),
        ({"authentication": {**BEARER, "token": "***"}}, "authentication.token"),
        ({"authentication": {**BEARER, "more": 1}}, "authentication.more"),
        ({"authentication": BEARER, "headers": {"authorization": "x"}}, "authentication"),
        ({"authentication": MTLS, "url": "http://93.184.216.34/"}, "authentication"),
        ({"authentication": {**OAUTH2, "tokenUrl": "http://u:p@h/"}}, "authentication.tokenUrl"),
        ({"authentication": {**MTLS, "certificate": "PEM"}}, "authentication.certificate"),
        ({"authentication": {**MTLS, "privateKey": OTHER_KEY}}, "authentication.privateKey"),
        ({"authentication": expired()}, "authentication.certificate"),
    ],
)  # fmt: skip
async def test_what_cannot_be_used_is_refused(
    api: Caller, fields: dict[str, Any], path: str
) -> None:
    refused = await api("POST", "/destinations", {"name": "n", "url": HOOK, **fields})
    assert refused.status == 400, refused.body
    assert [detail["path"] for detail in refused.json["details"]] == [path]
    assert "passphrase" not in refused.json["message"]


async def test_a_header_authorization_is_refused_beside_an_authentication(api: Caller) -> None:
    made = await make(api, authentication=BEARER)
    refused = await api("PATCH", f"/destinations/{made['id']}", {"headers": {"AUTHORIZATION": "x"}})
    assert (refused.status, refused.json["details"][0]["path"]) == (400, "authentication")


async def test_a_new_secret_is_audited_as_a_mask(api: Caller) -> None:
    made = await make(api, authentication=BASIC)
    await api("PATCH", f"/destinations/{made['id']}", {"authentication": {"password": "new one"}})
    entry = (await api("GET", "/audit-logs")).json["items"][0]
    assert entry["changes"] == {"authentication.password": {"from": "***", "to": "***"}}
