"""Workspaces and keys that are created in the database of a running server."""

from collections.abc import Sequence
from typing import Any

import pytest
import trio

from engine.control.keys import KeyCommands
from engine.control.writer import writer_without_models
from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.model.configuration import KeyRecord, Tenant
from engine.model.errors import Refusal
from engine.model.identity import Identity
from engine.model.read_models import digest_of
from storage.audit.changes import Change, Changes
from storage.configuration.store import ConfigurationTables
from storage.database.bridge import Bridge
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller, House
from tests.patience import HANGS_S

DAY_S = 86_400.0


def keys_of(bridge: Bridge, now: float = 1_800_000_000.0) -> KeyCommands:
    """Return `KeyCommands` that write to the database without a server, as the command line does."""
    tables = ConfigurationTables(bridge.pool, SecretBox([b"k" * 32]))
    return KeyCommands(tables.tenants, tables.keys, writer_without_models(Identity(), lambda: now))


async def audit(bridge: Bridge, action: str) -> list[dict[str, Any]]:
    rows = await bridge.pool.fetch("SELECT * FROM audit_log WHERE action = $1 ORDER BY id", action)
    return [dict(row) for row in rows]


async def test_the_first_start_makes_a_key_of_each_scope_and_the_second_none(
    bridge: Bridge,
) -> None:
    keys = keys_of(bridge)
    made = await keys.bootstrap()
    assert {new.key.scope for new in made} == set(Scope)
    assert all(new.secret.startswith("ang_dev_") for new in made)
    assert await keys.bootstrap() == []
    (tenant,) = await keys.workspaces()
    assert tenant.workspace.plan == "scale"
    assert [each.name for each in tenant.environments] == list(Environment)


async def test_only_digests_of_secrets_are_kept(bridge: Bridge) -> None:
    keys = keys_of(bridge)
    tenant = await keys.create_workspace("acme", "free")
    for environment, prefix in (
        (Environment.DEVELOPMENT, "ang_dev_"),
        (Environment.STAGING, "ang_sta_"),
        (Environment.PRODUCTION, "ang_pro_"),
        (None, "angmk_"),
    ):
        new = await keys.create(tenant, Scope.READ, environment, "k")
        assert new.secret.startswith(prefix)
        (row,) = await bridge.pool.fetch(
            "SELECT * FROM key_secrets WHERE key = $1::uuid", new.key.id
        )
        assert row["digest"] == digest_of(new.secret.encode())
        assert (row["prefix"], row["last_four"]) == (prefix, new.secret[-4:])
        assert new.secret not in str(dict(row))
        expected = CredentialKind.MCP_KEY if environment is None else CredentialKind.API_KEY
        assert new.key.kind is expected
    assert len(await keys.list(tenant)) == 4


async def test_a_rotated_key_keeps_its_id_and_each_old_secret_its_day(
    house: House, tenant: Tenant, bridge: Bridge
) -> None:
    new = await house.keys.create(tenant, Scope.READ, Environment.DEVELOPMENT, "k")
    first = await house.keys.rotate(new.key.id)
    second = await house.keys.rotate(new.key.id)
    assert first.key.id == second.key.id == new.key.id
    at = house.clock.now()
    for secret, hours, valid in (
        (new.secret, 23, True),
        (new.secret, 25, False),
        (first.secret, 23, True),
        (first.secret, 25, False),
        (second.secret, 1000, True),
    ):
        credential = house.models.credential_by_digest(
            digest_of(secret.encode()), at + hours * 3600
        )
        assert (credential is not None) is valid, (secret, hours)
    for secret in (new.secret, first.secret, second.secret):
        caller = await house.caller(secret)
        assert (await caller("GET", "/auth/context")).status == 200
    old = await house.caller(new.secret)
    assert (await old("GET", "/auth/context")).json["expiresAt"] is not None
    rotations = await audit(bridge, "api_key.rotate")
    assert [row["previous_fingerprint"] for row in rotations] == [
        new.key.secrets[0].fingerprint,
        first.key.secrets[0].fingerprint,
    ]
    assert {row["actor_type"] for row in rotations} == {"CLI"}


async def test_a_rotation_drops_secrets_that_have_ended(bridge: Bridge) -> None:
    keys = keys_of(bridge)
    tenant = await keys.create_workspace("acme")
    new = await keys.create(tenant, Scope.READ, Environment.STAGING, "k")
    await keys.rotate(new.key.id)
    later = await keys_of(bridge, 1_800_000_000.0 + DAY_S + 1).rotate(new.key.id)
    assert len(later.key.secrets) == 2


async def test_a_revoked_key_opens_nothing(house: House, tenant: Tenant) -> None:
    new = await house.keys.create(tenant, Scope.READ, Environment.DEVELOPMENT, "k")
    rotated = await house.keys.rotate(new.key.id)
    await house.keys.revoke(new.key.id)
    for secret in (new.secret, rotated.secret):
        caller = await house.caller(secret)
        assert (await caller("GET", "/auth/context")).status == 401
    assert await house.keys.list(tenant) == []
    for refused in (house.keys.revoke, house.keys.rotate):
        with pytest.raises(Refusal, match="no such key"):
            await refused(new.key.id)


async def test_what_cannot_be_is_refused(bridge: Bridge) -> None:
    keys = keys_of(bridge)
    tenant = await keys.create_workspace("acme")
    for code, call in (
        ("conflict", lambda: keys.create_workspace("acme")),
        ("invalid_request", lambda: keys.create_workspace("")),
        ("invalid_request", lambda: keys.create_workspace("a\nb")),
        ("invalid_request", lambda: keys.create_workspace("b", "gold")),
        ("invalid_request", lambda: keys.create(tenant, Scope.INGEST, None, "k")),
        ("invalid_request", lambda: keys.create(tenant, Scope.READ, None, "")),
        ("not_found", lambda: keys.workspace("nobody")),
        ("not_found", lambda: keys.rotate("01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10")),
        ("not_found", lambda: keys.revoke("no uuid")),
    ):
        with pytest.raises(Refusal) as refused:
            await call()
        assert refused.value.code == code
    assert (await keys.ensure_workspace(None)).workspace == tenant.workspace
    assert (await keys.ensure_workspace("acme")).workspace == tenant.workspace
    assert (await keys.ensure_workspace("new")).workspace.name == "new"


async def test_concurrent_rotations_leave_every_secret_in_force(bridge: Bridge) -> None:
    keys = keys_of(bridge)
    tenant = await keys.create_workspace("acme")
    new = await keys.create(tenant, Scope.READ, Environment.DEVELOPMENT, "k")
    made: list[KeyRecord] = []

    async def rotate() -> None:
        made.append((await keys.rotate(new.key.id)).key)

    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(rotate)
    (key,) = await keys.list(tenant)
    assert len(key.secrets) == 4
    assert [secret.expires_at_ms is None for secret in key.secrets] == [True, False, False, False]


async def test_what_the_command_line_makes_is_valid_in_a_running_server_at_once(
    house: House, bridge: Bridge
) -> None:
    async def changed(news: Sequence[Change]) -> None:
        await house.loader.changed_all((change.kind, change.id) for change in news)
        heard.set()

    heard = trio.Event()
    changes = Changes(bridge, changed, house.loader.load)
    keys = keys_of(bridge, house.clock.now())
    async with trio.open_nursery() as nursery:
        await nursery.start(changes.run)
        tenant = await keys.create_workspace("late")
        new = await keys.create(tenant, Scope.MANAGE, Environment.PRODUCTION, "k")
        caller = await house.caller(new.secret)

        async def status(expected: int) -> None:
            nonlocal heard
            while True:
                # `heard` must be a new, unset event before the request begins: the server can hear of the
                # change during the request, and `changed` then sets `heard`.
                heard = trio.Event()
                if (await caller("GET", "/auth/context")).status == expected:
                    return
                with trio.fail_after(HANGS_S):
                    await heard.wait()

        await status(200)
        await keys.revoke(new.key.id)
        await status(401)
        nursery.cancel_scope.cancel()


async def test_a_reload_brings_what_was_missed_and_removes_what_is_gone(
    house: House, tenant: Tenant, api: Caller, bridge: Bridge
) -> None:
    outside = keys_of(bridge, house.clock.now())
    missed = await outside.create(tenant, Scope.READ, Environment.DEVELOPMENT, "k")
    gone = await house.keys.create(tenant, Scope.READ, Environment.DEVELOPMENT, "k")
    await outside.revoke(gone.key.id)
    made = (await api("POST", "/destinations", {"name": "d", "url": "https://example.com"})).json
    rule = {"name": "r", "destinationId": made["id"], "eventTypes": ["*"]}
    rule_id = (await api("POST", "/routing-rules", rule)).json["id"]
    await bridge.pool.execute("DELETE FROM routing_rules")
    await bridge.pool.execute("UPDATE destinations SET name = 'elsewhere', version = version + 1")
    await house.loader.load()
    now = house.clock.now()
    assert house.models.credential_by_digest(digest_of(missed.secret.encode()), now) is not None
    assert house.models.credential_by_digest(digest_of(gone.secret.encode()), now) is None
    assert rule_id not in house.models.rules
    assert house.models.destinations[made["id"]].name == "elsewhere"
    assert house.directory.configured[-1].name == "elsewhere"
    told = len(house.directory.configured)
    await house.loader.load()
    assert len(house.directory.configured) == told, "what did not change is not told again"
