"""Destinations: accepted values, shown values, and later changes."""

import base64
from typing import Any

import pytest

from engine.core.vocabulary import DestinationStatus, Ordering
from engine.model.identity import shard_of
from storage.database.bridge import Bridge
from tests.api.house import HOOK, Caller, House

OWN = "whsec_" + base64.b64encode(bytes(range(24))).decode()
DEFAULT_SCHEDULE = [5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400]


async def make(api: Caller, **fields: Any) -> dict[str, Any]:
    response = await api("POST", "/destinations", {"name": "Orders", "url": HOOK, **fields})
    assert response.status == 201, response.body
    return dict(response.json)


async def test_a_destination_is_created_with_defaults_and_its_secret_shown_once(
    api: Caller,
) -> None:
    made = await make(api)
    secret = made.pop("secret")
    assert secret.startswith("whsec_")
    assert made["delivery"] == {
        "concurrency": 8,
        "ordering": "NONE",
        "timeoutMs": 15000,
        "rateLimitPerSecond": None,
        "dryRun": False,
        "retrySchedule": DEFAULT_SCHEDULE,
    }
    assert made["signing"] == {"algorithm": "HMAC_SHA256"}
    assert (made["status"], made["environment"], made["headers"]) == ("ACTIVE", "DEVELOPMENT", {})
    assert made["templateId"] is made["description"] is made["customerAccountId"] is None
    shown = await api("GET", f"/destinations/{made['id']}")
    assert shown.json == made
    assert secret.encode() not in shown.body


async def test_everything_that_is_written_is_shown_again(api: Caller, house: House) -> None:
    document = {
        "name": "Rechnungen ✓",
        "url": "http://[2606:4700::1111]:8443/a/b?c=d",
        "description": "what it is for",
        "customerExternalId": "c-1",
        "headers": {"X-Tenant": "42", "Authorization": "Bearer s3cret", "X-Api-Key": "k"},
        "delivery": {
            "concurrency": 256,
            "ordering": "STRICT",
            "timeoutMs": 100,
            "rateLimitPerSecond": 0.5,
            "dryRun": True,
            "retrySchedule": [],
        },
        "signing": {"algorithm": "ED25519"},
    }
    made = await make(api, **document)
    assert made["secret"] is None
    assert made["signing"]["publicKey"].startswith("whpk_")
    assert "previousPublicKey" not in made["signing"]
    assert made["headers"] == {"X-Tenant": "42", "Authorization": "***", "X-Api-Key": "***"}
    assert made["delivery"] == document["delivery"]
    assert made["customerAccountId"] is not None
    told = house.directory.configured[-1]
    assert told.headers == (
        (b"X-Tenant", b"42"),
        (b"Authorization", b"Bearer s3cret"),
        (b"X-Api-Key", b"k"),
    )
    assert (told.ordering, told.customer, told.version) == (Ordering.STRICT, "c-1", 1)


BAD_CREATES = [
    ({}, "name"),
    ({"name": "x"}, "url"),
    ({"name": "", "url": HOOK}, "name"),
    ({"name": "x" * 257, "url": HOOK}, "name"),
    ({"name": None, "url": HOOK}, "name"),
    ({"name": 5, "url": HOOK}, "name"),
    ({"name": "a\0b", "url": HOOK}, "name"),
    ({"name": "x", "url": 5}, "url"),
    ({"name": "x", "url": "ftp://example.com/"}, "url"),
    ({"name": "x", "url": "https://user:pw@example.com/"}, "url"),
    ({"name": "x", "url": "https://example.com\\@evil.com/"}, "url"),
    ({"name": "x", "url": "https://exa\nmple.com/"}, "url"),
    ({"name": "x", "url": "https://example.com/" + "a" * 2048}, "url"),
    ({"name": "x", "url": "https://example.com:0/"}, "url"),
    ({"name": "x", "url": "/relative"}, "url"),
    ({"name": "x", "url": HOOK, "bogus": 1}, "bogus"),
    ({"name": "x", "url": HOOK, "customer_external_id": "c"}, "customer_external_id"),
    ({"name": "x", "url": HOOK, "id": "1"}, "id"),
    ({"name": "x", "url": HOOK, "templateId": None}, "templateId"),
    ({"name": "x", "url": HOOK, "rotateSecret": True}, "rotateSecret"),
    ({"name": "x", "url": HOOK, "customerExternalId": ""}, "customerExternalId"),
    ({"name": "x", "url": HOOK, "customerAccountId": "no-uuid"}, "customerAccountId"),
    ({"name": "x", "url": HOOK, "delivery": []}, "delivery"),
    ({"name": "x", "url": HOOK, "delivery": {"bogus": 1}}, "delivery.bogus"),
    ({"name": "x", "url": HOOK, "delivery": {"concurrency": 0}}, "delivery.concurrency"),
    ({"name": "x", "url": HOOK, "delivery": {"concurrency": 257}}, "delivery.concurrency"),
    ({"name": "x", "url": HOOK, "delivery": {"concurrency": "8"}}, "delivery.concurrency"),
    ({"name": "x", "url": HOOK, "delivery": {"concurrency": True}}, "delivery.concurrency"),
    ({"name": "x", "url": HOOK, "delivery": {"concurrency": "AUTO"}}, "delivery.concurrency"),
    ({"name": "x", "url": HOOK, "delivery": {"timeoutMs": 99}}, "delivery.timeoutMs"),
    ({"name": "x", "url": HOOK, "delivery": {"timeoutMs": 60001}}, "delivery.timeoutMs"),
    ({"name": "x", "url": HOOK, "delivery": {"ordering": "FIFO"}}, "delivery.ordering"),
    ({"name": "x", "url": HOOK, "delivery": {"dryRun": 1}}, "delivery.dryRun"),
    (
        {"name": "x", "url": HOOK, "delivery": {"rateLimitPerSecond": 0}},
        "delivery.rateLimitPerSecond",
    ),
    ({"name": "x", "url": HOOK, "delivery": {"retrySchedule": [0]}}, "delivery.retrySchedule[0]"),
    (
        {"name": "x", "url": HOOK, "delivery": {"retrySchedule": [86401]}},
        "delivery.retrySchedule[0]",
    ),
    ({"name": "x", "url": HOOK, "delivery": {"retrySchedule": [1.5]}}, "delivery.retrySchedule[0]"),
    ({"name": "x", "url": HOOK, "delivery": {"retrySchedule": [1] * 21}}, "delivery.retrySchedule"),
    ({"name": "x", "url": HOOK, "signing": {"algorithm": "RSA"}}, "signing.algorithm"),
    *(
        ({"name": "x", "url": HOOK, "secret": secret}, "secret")
        for secret in ("", "whsec_", "x" * 40, OWN[:-4], OWN + "=", OWN[6:], f"whsec_{'A' * 88}", 1)
    ),
    ({"name": "x", "url": HOOK, "secret": OWN, "signing": {"algorithm": "ED25519"}}, "secret"),
    ({"name": "x", "url": HOOK, "headers": []}, "headers"),
    ({"name": "x", "url": HOOK, "headers": {"X-A": 1}}, "headers.X-A"),
    ({"name": "x", "url": HOOK, "headers": {"X-A": None}}, "headers.X-A"),
    ({"name": "x", "url": HOOK, "headers": {"X A": "1"}}, "headers.X A"),
    ({"name": "x", "url": HOOK, "headers": {"": "1"}}, "headers"),
    ({"name": "x", "url": HOOK, "headers": {"X-A": "1\r\nX-B: 2"}}, "headers.X-A"),
    ({"name": "x", "url": HOOK, "headers": {"X-A": " 1"}}, "headers.X-A"),
    ({"name": "x", "url": HOOK, "headers": {"Authorization": "***"}}, "headers.Authorization"),
    ({"name": "x", "url": HOOK, "headers": {f"X-{n}": "1" for n in range(51)}}, "headers"),
    ({"name": "x", "url": HOOK, "headers": {"X-A": "1" * 8192}}, "headers"),
]
RESERVED = [
    "Host", "content-length", "Transfer-Encoding", "connection", "Keep-Alive", "TE", "Trailer",
    "Upgrade", "Expect", "Proxy-Authorization", "webhook-id", "Webhook-Signature", "Angarium-Attempt",
]  # fmt: skip
BAD_CREATES += [
    ({"name": "x", "url": HOOK, "headers": {name: "1"}}, f"headers.{name}") for name in RESERVED
]


async def test_a_bad_destination_is_refused_naming_the_field(api: Caller) -> None:
    for document, path in BAD_CREATES:
        response = await api("POST", "/destinations", document)
        assert (response.status, response.code) == (400, "invalid_request"), (document, response)
        assert path in response.paths, (document, response.body)
    assert (await api("GET", "/destinations")).json == {"items": [], "nextCursor": None}


async def test_header_names_merge_whatever_their_case(api: Caller) -> None:
    made = await make(api, headers={"x-tenant": "1", "X-Tenant": "2"})
    assert made["headers"] == {"X-Tenant": "2"}
    patched = await api("PATCH", f"/destinations/{made['id']}", {"headers": {"X-TENANT": "3"}})
    assert patched.json["headers"] == {"X-TENANT": "3"}
    removed = await api("PATCH", f"/destinations/{made['id']}", {"headers": {"x-tenant": None}})
    assert removed.json["headers"] == {}


async def test_customers_are_opened_found_and_never_revealed(
    api: Caller, neighbour: Caller
) -> None:
    first = await make(api, customerExternalId="c-1")
    second = await make(api, customerExternalId="c-1")
    account = first["customerAccountId"]
    assert second["customerAccountId"] == account
    third = await make(api, customerAccountId=account.upper())
    assert third["customerExternalId"] == "c-1"
    both = await make(api, customerAccountId=account, customerExternalId="c-1")
    assert both["customerAccountId"] == account
    body = {"name": "x", "url": HOOK, "customerAccountId": account}
    assert (await api("POST", "/destinations", {**body, "customerExternalId": "c-2"})).status == 400
    assert (await neighbour("POST", "/destinations", body)).code == "not_found"
    listed = await api("GET", f"/destinations?customerAccountId={account}")
    assert [item["id"] for item in listed.json["items"]] == [
        made["id"] for made in (both, third, second, first)
    ]


async def test_archiving_leaves_a_row_for_a_start_that_comes_before_all_is_discarded(
    api: Caller, bridge: Bridge
) -> None:
    made = await make(api)
    backlog = "SELECT destination::text, shard FROM destination_backlog"
    await api("POST", f"/destinations/{made['id']}/disable")
    assert await bridge.pool.fetch(backlog) == []
    await api("DELETE", f"/destinations/{made['id']}")
    ((destination, shard),) = await bridge.pool.fetch(backlog)
    assert (destination, shard) == (made["id"], shard_of(made["id"]))


async def test_lists_page_newest_first_and_hide_archived_ones(api: Caller) -> None:
    made = [(await make(api, name=f"d{n}"))["id"] for n in range(5)]
    assert (await api("DELETE", f"/destinations/{made[0]}")).json == {"success": True}
    await api("POST", f"/destinations/{made[1]}/disable")
    seen: list[str] = []
    cursor = ""
    while True:
        page = (await api("GET", f"/destinations?limit=2{cursor}")).json
        seen += [item["id"] for item in page["items"]]
        assert len(page["items"]) <= 2
        if page["nextCursor"] is None:
            break
        cursor = f"&cursor={page['nextCursor']}"
    assert seen == made[:0:-1]
    for status, expected in (("ARCHIVED", made[:1]), ("DISABLED", made[1:2])):
        listed = await api("GET", f"/destinations?status={status}")
        assert [item["id"] for item in listed.json["items"]] == expected


PATCHES: list[tuple[dict[str, Any], dict[str, Any]]] = [
    ({"name": "new"}, {"name": "new"}),
    ({"description": "d"}, {"description": "d"}),
    ({"description": None}, {"description": None}),
    ({"url": "https://example.com/other"}, {"url": "https://example.com/other"}),
    ({"delivery": {"timeoutMs": 200}}, {"delivery.timeoutMs": 200, "delivery.concurrency": 3}),
    ({"delivery": {"concurrency": None}}, {"delivery.concurrency": 8, "delivery.timeoutMs": 500}),
    ({"delivery": {"concurrency": "auto"}}, {"delivery.concurrency": "auto"}),
    ({"delivery": None}, {"delivery.concurrency": 8, "delivery.timeoutMs": 15000}),
    ({"delivery": {"retrySchedule": [1, 2]}}, {"delivery.retrySchedule": [1, 2]}),
    ({"headers": None}, {"headers": {}}),
    ({"headers": {"X-B": "2"}}, {"headers": {"X-A": "1", "X-Token": "***", "X-B": "2"}}),
    ({"headers": {"X-A": None}}, {"headers": {"X-Token": "***"}}),
    ({"headers": {"x-token": "***"}}, {"headers": {"X-A": "1", "X-Token": "***"}}),
    ({"headers": {"X-Token": None}}, {"headers": {"X-A": "1"}}),
    ({"customerExternalId": None, "customerAccountId": None}, {"customerExternalId": None}),
    ({}, {"name": "Orders"}),
    ({"signing": {"algorithm": "HMAC_SHA256"}}, {"signing.algorithm": "HMAC_SHA256"}),
]


async def test_a_patch_merges_and_leaves_the_rest(api: Caller) -> None:
    for patch, expected in PATCHES:
        made = await make(
            api,
            headers={"X-A": "1", "X-Token": "t"},
            delivery={"concurrency": 3, "timeoutMs": 500},
        )
        response = await api("PATCH", f"/destinations/{made['id']}", patch)
        assert response.status == 200, (patch, response.body)
        assert response.json["secret"] is None
        for path, value in expected.items():
            shown: Any = response.json
            for part in path.split("."):
                shown = shown[part]
            assert shown == value, patch
        assert (await api("GET", f"/destinations/{made['id']}")).json == {
            name: value for name, value in response.json.items() if name != "secret"
        }


async def test_a_concurrency_that_adapts_is_kept_and_left(api: Caller, house: House) -> None:
    made = await make(api, delivery={"concurrency": "auto"})
    path = f"/destinations/{made['id']}"
    assert made["delivery"]["concurrency"] == "auto"
    known = house.models.destinations[made["id"]]
    assert (known.adapts, known.concurrency) == (True, 256)
    listed = (await api("GET", "/destinations")).json["items"]
    assert [item["delivery"]["concurrency"] for item in listed] == ["auto"]
    renamed = (await api("PATCH", path, {"name": "y"})).json
    assert renamed["delivery"]["concurrency"] == "auto"
    changed = (await api("PATCH", path, {"delivery": {"concurrency": 5}})).json
    assert changed["delivery"]["concurrency"] == 5
    known = house.models.destinations[made["id"]]
    assert (known.adapts, known.concurrency) == (False, 5)
    house.projection.most_concurrency = 32  # as ANGARIUM_AUTO_CONCURRENCY_MAX sets it
    await api("PATCH", path, {"delivery": {"concurrency": "auto"}})
    known = house.models.destinations[made["id"]]
    assert (known.adapts, known.concurrency) == (True, 32)


async def test_what_is_wrong_with_a_concurrency_is_said(api: Caller) -> None:
    for wrong, words in (
        ("8", 'must be a whole number or "auto"'),
        (0, "must be at least 1"),
        (257, "must be at most 256"),
        (1.5, "must be a whole number"),
    ):
        body = {"name": "x", "url": HOOK, "delivery": {"concurrency": wrong}}
        refused = await api("POST", "/destinations", body)
        assert refused.status == 400
        assert refused.json["message"] == f"delivery.concurrency: {words}"


BAD_PATCHES = [
    ({"name": None}, "name"),
    ({"url": None}, "url"),
    ({"bogus": None}, "bogus"),
    ({"status": "DISABLED"}, "status"),
    ({"id": None}, "id"),
    ({"secret": None}, "secret"),
    ({"rotateSecret": "yes"}, "rotateSecret"),
    ({"rotateSecret": True, "graceSeconds": -1}, "graceSeconds"),
    ({"rotateSecret": True, "graceSeconds": 604_801}, "graceSeconds"),
    ({"delivery": {"bogus": None}}, "delivery.bogus"),
    ({"delivery": {"timeoutMs": 1}}, "delivery.timeoutMs"),
    ({"signing": {"publicKey": "whpk_x"}}, "signing.publicKey"),
    ({"headers": {"Host": "x"}}, "headers.Host"),
    ({"headers": {"Authorization": "***"}}, "headers.Authorization"),
    ({"customerExternalId": "c-1"}, "customerExternalId"),
    ({"customerAccountId": "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"}, "customerAccountId"),
    ({"url": "https://user@example.com/"}, "url"),
]


async def test_a_bad_patch_changes_nothing(api: Caller) -> None:
    made = await make(api)
    del made["secret"]
    for patch, path in BAD_PATCHES:
        response = await api("PATCH", f"/destinations/{made['id']}", patch)
        assert (response.status, response.code) == (400, "invalid_request"), (patch, response)
        assert path in response.paths, (patch, response.body)
    assert (await api("GET", f"/destinations/{made['id']}")).json == made


async def test_a_url_that_leads_elsewhere_takes_no_secret_along(api: Caller, house: House) -> None:
    made = await make(api, headers={"X-Api-Key": "k", "Cookie": "c", "X-A": "1"})
    path = f"/destinations/{made['id']}"
    for url in ("http://example.com/hooks", "https://example.org/", "https://example.com:444/"):
        for headers in ({}, {"X-Api-Key": "***"}, {"X-Api-Key": "new"}, {"Cookie": None}):
            refused = await api("PATCH", path, {"url": url, "headers": headers})
            assert refused.status == 400
            assert {"headers.Cookie"} & set(refused.paths) or {"headers.X-Api-Key"} & set(
                refused.paths
            )
    moved = await api(
        "PATCH",
        path,
        {"url": "https://example.org/", "headers": {"x-api-key": "new", "Cookie": None}},
    )
    assert moved.json["headers"] == {"x-api-key": "***", "X-A": "1"}
    assert house.directory.configured[-1].headers == ((b"x-api-key", b"new"), (b"X-A", b"1"))


async def test_a_rotated_secret_is_shown_once_and_both_sign_for_a_day(
    api: Caller, house: House
) -> None:
    made = await make(api)
    patched = await api("PATCH", f"/destinations/{made['id']}", {"rotateSecret": True})
    assert patched.json["secret"].startswith("whsec_")
    assert patched.json["secret"] != made["secret"]
    current, previous = house.directory.configured[-1].signing
    assert current.expires_at is None
    assert previous.expires_at == pytest.approx(house.clock.now() + 86_400, abs=60)
    again = await api("PATCH", f"/destinations/{made['id']}", {"name": "x"})
    assert again.json["secret"] is None
    for _ in range(6):
        assert (
            await api("PATCH", f"/destinations/{made['id']}", {"rotateSecret": True})
        ).status == 200
    refused = await api("PATCH", f"/destinations/{made['id']}", {"rotateSecret": True})
    assert refused.code == "conflict"


async def test_a_destination_can_bring_its_own_secret(api: Caller, house: House) -> None:
    made = await make(api, secret=OWN)
    assert made["secret"] == OWN
    assert house.directory.configured[-1].signing[0].key == bytes(range(24))
    longest = "whsec_" + base64.b64encode(b"x" * 64).decode()
    assert (await make(api, secret=longest))["secret"] == longest


async def test_a_rotation_says_how_long_the_former_secret_signs(api: Caller, house: House) -> None:
    made = await make(api)
    path = f"/destinations/{made['id']}"
    assert (await api("PATCH", path, {"graceSeconds": 60})).paths == ["graceSeconds"]
    for grace_s in (604_800, 60):
        await api("PATCH", path, {"rotateSecret": True, "graceSeconds": grace_s})
    ends = [key.expires_at for key in house.directory.configured[-1].signing]
    now = house.clock.now()
    assert ends == [None, pytest.approx(now + 60, abs=60), pytest.approx(now + 604_800, abs=60)]
    await api("PATCH", path, {"rotateSecret": True, "graceSeconds": 0})
    assert len(house.directory.configured[-1].signing) == 1


async def test_public_keys_are_shown_with_the_one_before(api: Caller) -> None:
    made = await make(api, signing={"algorithm": "ED25519"})
    path = f"/destinations/{made['id']}"
    rotated = (await api("PATCH", path, {"rotateSecret": True})).json
    assert rotated["secret"] is None
    assert rotated["signing"]["previousPublicKey"] == made["signing"]["publicKey"]
    assert rotated["signing"]["publicKey"] != made["signing"]["publicKey"]
    back = {"signing": {"algorithm": "HMAC_SHA256"}}
    assert (await api("PATCH", path, back)).paths == ["signing.algorithm"]
    changed = (await api("PATCH", path, {**back, "rotateSecret": True})).json
    assert changed["secret"].startswith("whsec_")
    hmac = await make(api)
    other = await api("PATCH", f"/destinations/{hmac['id']}", {"signing": {"algorithm": "ED25519"}})
    assert other.json["signing"]["publicKey"].startswith("whpk_")


async def test_a_destination_goes_through_its_states(api: Caller, house: House) -> None:
    made = await make(api)
    path = f"/destinations/{made['id']}"

    def told() -> DestinationStatus:
        return house.directory.configured[-1].status

    for verb, status in (("disable", "DISABLED"), ("disable", "DISABLED"), ("enable", "ACTIVE")):
        response = await api("POST", f"{path}/{verb}", {})
        assert (response.status, response.json["status"]) == (200, status)
        assert told().name == status
    version = house.directory.configured[-1].version
    await api("POST", f"{path}/enable")
    assert house.directory.configured[-1].version == version, "nothing changed, nothing is written"
    for _ in range(2):
        assert (await api("DELETE", path)).json == {"success": True}
    assert told() is DestinationStatus.ARCHIVED
    for method, where in (("POST", "/enable"), ("POST", "/disable"), ("POST", "/test")):
        assert (await api(method, path + where)).code == "conflict"
    assert (await api("PATCH", path, {"name": "x"})).code == "conflict"
    assert (await api("GET", path)).json["status"] == "ARCHIVED"
    rule = {"name": "r", "destinationId": made["id"], "eventTypes": ["*"]}
    assert (await api("POST", "/routing-rules", rule)).code == "conflict"


async def test_a_url_that_the_rules_no_longer_allow_is_held_not_lost(
    api: Caller, house: House, bridge: Bridge
) -> None:
    made = await make(api, headers={"X-Token": "t"})
    await bridge.pool.execute("UPDATE destinations SET url = 'gopher://old', version = version + 1")
    await house.loader.load()
    held = house.models.destinations[made["id"]]
    assert (held.status, held.target.host) == (DestinationStatus.DISABLED, "destination.invalid")
    path = f"/destinations/{made['id']}"
    assert (await api("PATCH", path, {"name": "n"})).status == 200
    fixed = await api("PATCH", path, {"url": HOOK, "headers": {"X-Token": "t"}})
    assert fixed.json["status"] == "ACTIVE"
    assert house.models.destinations[made["id"]].status is DestinationStatus.ACTIVE
