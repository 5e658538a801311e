"""A workspace's settings over HTTP: what is stored, refused and shown, and when it takes effect."""

from typing import Any

from engine.control.audit import Auditor, Principal
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from engine.model.quotas import WorkspaceSettings
from storage.database.bridge import Bridge
from tests.api.house import Caller
from tests.cases import each_case
from tests.service.house import ServiceHouse, browser_of, open_service

COLORS = {"primary": None, "accent": None, "background": None, "text": None}
BRANDING = {"name": None, "logoUrl": None, "colors": COLORS, "locale": None, "supportUrl": None}
PORTAL = "https://portal.example.com"


async def test_settings_are_as_by_default_until_they_are_changed(
    tenant: Tenant, api: Caller
) -> None:
    shown = (await api("GET", "/workspace")).json
    assert (shown["id"], shown["name"], shown["plan"]) == (tenant.workspace.id, "acme", "scale")
    assert (shown["branding"], shown["allowedOrigins"]) == (BRANDING, [])
    assert set(shown["customerMay"].values()) == {True}
    assert (shown["returnUrl"], shown["updatedAt"]) == (None, None)


async def test_a_patch_merges_and_null_puts_back(api: Caller) -> None:
    change = {
        "branding": {
            "name": "Acmé",
            "logoUrl": "https://acme.example.com/logo.svg",
            "colors": {"primary": "#0B5FFF"},
            "locale": "de-CH",
            "supportUrl": "https://acme.example.com/help",
        },
        "allowedOrigins": ["HTTPS://Portal.Example.com:443", "http://localhost:3000"],
        "customerMay": {"replay": False, "editHeaders": False},
        "returnUrl": "https://acme.example.com/settings",
    }
    first = (await api("PATCH", "/workspace", change)).json
    colors = {**COLORS, "primary": "#0b5fff"}
    assert first["branding"] == {**change["branding"], "colors": colors}  # type: ignore[dict-item]
    assert first["allowedOrigins"] == [PORTAL, "http://localhost:3000"]
    off = {name for name, value in first["customerMay"].items() if not value}
    assert off == {"replay", "editHeaders"}
    back = first["returnUrl"]
    assert back == change["returnUrl"]
    change = {
        "branding": {"name": None, "colors": {"primary": None, "text": "#000000"}},
        "customerMay": {"replay": None},
    }
    second = (await api("PATCH", "/workspace", change)).json
    assert second["branding"] == {
        **first["branding"],
        "name": None,
        "colors": {**COLORS, "text": "#000000"},
    }
    assert second["allowedOrigins"] == first["allowedOrigins"]
    assert second["customerMay"] == {**first["customerMay"], "replay": True}
    assert second["returnUrl"] == back
    assert second["updatedAt"] > first["updatedAt"]
    assert (await api("GET", "/workspace")).json == second
    assert (await api("PATCH", "/workspace", {})).json == second, "nothing changed: no new version"
    nulls = {"branding": None, "allowedOrigins": None, "customerMay": None, "returnUrl": None}
    reset = (await api("PATCH", "/workspace", nulls)).json
    assert (reset["branding"], reset["allowedOrigins"]) == (BRANDING, [])
    assert reset["returnUrl"] is None
    assert set(reset["customerMay"].values()) == {True}


@each_case(
    ("change", "path"),
    [
        ({"name": "other"}, "name"),
        ({"branding": {"name": ""}}, "branding.name"),
        ({"branding": {"name": "n" * 101}}, "branding.name"),
        ({"branding": {"name": "a\0"}}, "branding.name"),
        ({"branding": {"logoUrl": "http://acme.example.com/l.svg"}}, "branding.logoUrl"),
        ({"branding": {"logoUrl": "data:image/png;base64,AAAA"}}, "branding.logoUrl"),
        ({"branding": {"logoUrl": "javascript:alert(1)"}}, "branding.logoUrl"),
        ({"branding": {"logoUrl": "https://u:p@acme.example.com/"}}, "branding.logoUrl"),
        ({"branding": {"logoUrl": "https://a.example/" + "a" * 2048}}, "branding.logoUrl"),
        ({"branding": {"supportUrl": "mailto:help@acme.example.com"}}, "branding.supportUrl"),
        ({"branding": {"colors": {"primary": "red"}}}, "branding.colors.primary"),
        ({"branding": {"colors": {"text": "#12345"}}}, "branding.colors.text"),
        ({"branding": {"colors": {"text": "#1234567"}}}, "branding.colors.text"),
        ({"branding": {"colors": {"text": "#12345g"}}}, "branding.colors.text"),
        ({"branding": {"colors": {"border": "#123456"}}}, "branding.colors.border"),
        ({"branding": {"locale": "english"}}, "branding.locale"),
        ({"branding": {"locale": "de_DE"}}, "branding.locale"),
        ({"branding": {"locale": ""}}, "branding.locale"),
        ({"branding": {"font": "Arial"}}, "branding.font"),
        ({"allowedOrigins": "https://a.example"}, "allowedOrigins"),
        ({"allowedOrigins": ["*"]}, "allowedOrigins[0]"),
        ({"allowedOrigins": ["null"]}, "allowedOrigins[0]"),
        ({"allowedOrigins": [PORTAL, f"{PORTAL}/"]}, "allowedOrigins[1]"),
        ({"allowedOrigins": ["https://*.example.com"]}, "allowedOrigins[0]"),
        ({"allowedOrigins": ["http://portal.example.com"]}, "allowedOrigins[0]"),
        ({"allowedOrigins": [PORTAL, "HTTPS://PORTAL.example.com"]}, "allowedOrigins"),
        ({"allowedOrigins": [f"https://a{n}.example" for n in range(51)]}, "allowedOrigins"),
        ({"allowedOrigins": ["https://" + "a" * 300]}, "allowedOrigins[0]"),
        ({"allowedOrigins": [None]}, "allowedOrigins[0]"),
        ({"customerMay": {"everything": True}}, "customerMay.everything"),
        ({"customerMay": {"replay": "no"}}, "customerMay.replay"),
        ({"customerMay": []}, "customerMay"),
        ({"returnUrl": "http://acme.example.com"}, "returnUrl"),
        ({"returnUrl": "javascript:alert(1)"}, "returnUrl"),
    ],
)
async def test_what_cannot_be_is_refused_by_its_place(
    api: Caller, change: dict[str, Any], path: str
) -> None:
    refused = await api("PATCH", "/workspace", change)
    assert (refused.status, refused.code) == (400, "invalid_request")
    assert path in refused.paths
    assert (await api("GET", "/workspace")).json["updatedAt"] is None


async def test_fifty_origins_are_listed(api: Caller) -> None:
    origins = [f"https://a{number}.example" for number in range(50)]
    changed = await api("PATCH", "/workspace", {"allowedOrigins": origins})
    assert changed.json["allowedOrigins"] == origins


async def test_settings_are_the_workspaces_in_all_environments_and_nobody_elses(
    house: ServiceHouse, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    await api("PATCH", "/workspace", {"branding": {"name": "Acme"}})
    staging = await house.caller(tenant, Scope.READ, Environment.STAGING)
    mcp = await house.caller(tenant, environment=None)
    for caller in (staging, mcp):
        assert (await caller("GET", "/workspace")).json["branding"]["name"] == "Acme"
    assert (await neighbour("GET", "/workspace")).json["branding"]["name"] is None
    assert (await staging("PATCH", "/workspace", {})).status == 403
    assert (await mcp("PATCH", "/workspace", {"branding": {"name": "Ours"}})).status == 200
    assert (await api("GET", "/workspace")).json["branding"]["name"] == "Ours"
    browser = await browser_of(house, api)
    assert (await browser("GET", "/workspace")).status == 403
    assert (await browser("PATCH", "/workspace", {})).status == 403


async def test_a_change_is_audited_field_by_field(
    house: ServiceHouse, tenant: Tenant, api: Caller
) -> None:
    await api("PATCH", "/workspace", {"allowedOrigins": [PORTAL]})
    await api("PATCH", "/workspace", {"allowedOrigins": [PORTAL]})
    (entry,) = (await api("GET", "/audit-logs?action=workspace.update")).json["items"]
    assert entry["objectId"] == tenant.workspace.id
    assert entry["changes"] == {"allowedOrigins": {"from": [], "to": [PORTAL]}}
    mcp = await house.caller(tenant, environment=None)
    await mcp("PATCH", "/workspace", {"branding": {"name": "Acme"}})
    named = await house.caller(tenant, environment=None, X_Environment="STAGING")
    latest = (await named("GET", "/audit-logs?action=workspace.update")).json["items"][0]
    assert (latest["environment"], list(latest["changes"])) == (None, ["branding"])


async def test_who_read_an_older_version_overwrites_nothing(
    house: ServiceHouse, tenant: Tenant, bridge: Bridge
) -> None:
    table, workspace = house.server.tables.settings, tenant.workspace.id
    principal = Principal(kind="CLI", id="cli", workspace=workspace)
    auditor = Auditor(house.server.identity)

    async def write(version: int) -> bool:
        settings = WorkspaceSettings(
            workspace=workspace, version=version, origins=(PORTAL,), updated_at_ms=1
        )
        return await table.replace(
            settings, auditor.entry(principal, "workspace.update", workspace)
        )

    assert not await write(2), "there is nothing to follow"
    assert [await write(1), await write(1), await write(2), await write(2)] == [
        *(True, False),
        *(True, False),
    ]
    count = "SELECT count(*) FROM audit_log WHERE action = 'workspace.update'"
    assert await bridge.pool.fetch_value(count) == 2


async def test_other_processes_act_on_a_change_and_a_restart_forgets_none(
    bridge: Bridge,
) -> None:
    async with open_service(bridge) as house:
        tenant = await house.tenant("acme")
        api = await house.caller(tenant)
        models = house.server.models
        await bridge.pool.fetch(
            "INSERT INTO workspace_settings VALUES ($1::uuid, 1, $2, 1)",
            tenant.workspace.id,
            b'{"branding": {"name": "Other"}, "origins": ["https://a.example"],'
            b' "denied": ["replay", "ofALaterVersion"]}',
        )
        assert models.settings_of(tenant.workspace.id).version == 0
        await bridge.pool.fetch(
            "SELECT pg_notify('angarium_changes', json_build_object('kind', 'settings', 'id',"
            " $1::text)::text)",
            tenant.workspace.id,
        )
        found = await house.until(
            api, "/workspace", lambda shown: shown["branding"]["name"] == "Other"
        )
        assert found["customerMay"]["replay"] is False
        assert models.is_listed(b"https://a.example")
        await api("PATCH", "/workspace", {"allowedOrigins": ["https://b.example"]})
        assert not models.is_listed(b"https://a.example")
    async with open_service(bridge) as house:
        assert house.server.models.is_listed(b"https://b.example")
        settings = house.server.models.settings_of(tenant.workspace.id)
        assert settings.branding is not None
        assert (settings.version, settings.branding["name"]) == (2, "Other")
