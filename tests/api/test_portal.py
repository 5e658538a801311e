"""The portal's page, and the sites that can frame it."""

from api.web import EMBED, Portal, WebFiles
from engine.model.configuration import Tenant
from tests.api.house import House
from tests.cases import each_case


def policy_of(portal: Portal, workspace: str, page: str = "") -> str:
    answer = portal.answer("GET", f"/portal/{workspace}{page}".encode(), (), "an-id")
    assert answer is not None
    assert answer.status == 200
    headers = dict(answer.headers)
    assert headers["Cache-Control"] == "no-store"
    return headers["Content-Security-Policy"]


async def test_the_origins_of_a_workspace_can_frame_its_portal(
    house: House, tenant: Tenant
) -> None:
    api = await house.caller(await house.key(tenant))
    workspace = (await api("GET", "/auth/context")).json["workspaceId"]
    portal = Portal(WebFiles(), house.models)
    assert "frame-ancestors 'self';" in policy_of(portal, workspace)
    origins = ["https://app.example.com", "http://localhost:9000"]
    assert (await api("PATCH", "/workspace", {"allowedOrigins": origins})).status == 200
    allowed = "frame-ancestors 'self' https://app.example.com http://localhost:9000;"
    assert allowed in policy_of(portal, workspace, "/endpoints/x")
    assert "frame-ancestors 'self';" in policy_of(portal, "nobody")
    assert "img-src 'self' data: https:;" in policy_of(portal, workspace)


async def test_the_portal_has_its_page_its_assets_and_its_script_for_hosts(house: House) -> None:
    files = WebFiles()
    portal = Portal(files, house.models)
    page = portal.answer("GET", b"/portal/w", (), "an-id")
    assert page is not None
    assert isinstance(page.body, bytes)
    assert page.body.count(f"/portal/assets/{files.digest}/".encode()) > 5
    for path in (EMBED, f"/portal/assets/{files.digest}/portal/main.js".encode()):
        answer = portal.answer("GET", path, (), "an-id")
        assert answer is not None
        assert answer.status == 200
        assert answer.content_type.startswith("text/javascript")


@each_case(
    ("method", "path", "status"),
    [
        ("GET", b"/portal/", 404),
        ("GET", b"/portal/assets/0/portal/main.js", 404),
        ("POST", b"/portal/w", 405),
        ("GET", b"/portal", None),
        ("GET", b"/portals/w", None),
    ],
)
async def test_other_addresses_are_not_the_portal(
    house: House, method: str, path: bytes, status: int | None
) -> None:
    answer = Portal(WebFiles(), house.models).answer(method, path, (), "an-id")
    assert (None if answer is None else answer.status) == status
