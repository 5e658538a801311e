"""Conventions of all routes: the order of checks, envelopes, headers, methods and malformed input."""

import base64
import itertools
import re
from typing import Any

import pytest

from api.routes import Embed, Route
from api.table import ROUTES
from engine.core.vocabulary import CredentialKind, Environment, ErrorCategory, Scope
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import DOCUMENT, HOOK, Caller, House, open_house
from tests.api.test_destinations import make

ID = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
GUARDED = [route for route in ROUTES if route.scopes is not None and route.handler is not None]


def path_of(route: Route) -> str:
    return re.sub(r"{\w+}", ID, route.path)


async def test_without_a_valid_credential_every_route_says_so(house: House, tenant: Tenant) -> None:
    key = await house.key(tenant)
    for given in ("", "Bearer", "Bearer x", f"Basic {key}", f"Bearer {key}x", key):
        anybody = await house.caller(Authorization=given)
        for route in GUARDED:
            response = await anybody(route.method, path_of(route))
            assert (response.status, response.code) == (401, "unauthorized"), route
            assert response.headers["x-ratelimit-limit"] == "12000"
            assert response.headers["www-authenticate"] == "Bearer"
    lower = await house.caller(Authorization=f"bearer {key}")
    assert (await lower("GET", "/auth/context")).status == 200


async def test_scopes_allow_what_the_contract_says(
    house: House, tenant: Tenant, reader: Caller
) -> None:
    ingester = await house.caller(await house.key(tenant, Scope.INGEST))
    for route in GUARDED:
        allowed = (route.method, route.path) in (("GET", "/auth/context"), ("POST", "/files"))
        response = await ingester(route.method, path_of(route))
        assert (response.status == 403) is not allowed, route
        response = await reader(route.method, path_of(route))
        refused = route.embed is Embed.ONLY or Scope.READ not in (route.scopes or ())
        assert (response.status == 403) is refused, route
        assert response.status != 403 or response.code == "forbidden"


async def test_an_unknown_path_is_not_found_whoever_asks(house: House, api: Caller) -> None:
    anybody = await house.caller()
    paths = ("/", "/nothing", "/destinations/", "//destinations", f"/destinations/{ID}/nothing",
             f"/destinations/{ID}/", "/Destinations", "/docs/")  # fmt: skip
    for caller, path in itertools.product((anybody, api), paths):
        response = await caller("GET", path)
        assert (response.status, response.code) == (404, "not_found"), path
        assert (await caller("PUT", path)).status == 404


async def test_a_wrong_method_names_the_right_ones(house: House) -> None:
    anybody = await house.caller()
    for path in {route.path for route in ROUTES if not route.path.startswith("/events")}:
        known = {route.method for route in ROUTES if route.path == path}
        for method in {"PUT", "DELETE", "PATCH", "POST", "TRACE"} - known:
            response = await anybody(method, re.sub(r"{\w+}", ID, path))
            assert (response.status, response.code) == (405, "method_not_allowed"), path
            allowed = set(response.headers["allow"].split(", "))
            expected = known | {"OPTIONS"} | ({"HEAD"} if "GET" in known else set())
            assert allowed == expected


async def test_options_answers_with_what_is_allowed(house: House) -> None:
    anybody = await house.caller()
    for path in {route.path for route in ROUTES}:
        response = await anybody("OPTIONS", re.sub(r"{\w+}", ID, path))
        assert (response.status, response.body) == (204, b"")
        assert "OPTIONS" in response.headers["allow"].split(", ")
    assert (await anybody("OPTIONS", "/nothing")).status == 404
    both = (await anybody("OPTIONS", "/events")).headers["allow"]
    assert set(both.split(", ")) == {"GET", "HEAD", "OPTIONS", "POST"}


async def test_options_of_the_server_as_a_whole_name_every_method(house: House) -> None:
    anybody = await house.caller()
    whole = await anybody("OPTIONS", "*")
    assert (whole.status, whole.body) == (204, b"")
    known = {route.method for route in ROUTES} | {"HEAD", "OPTIONS"}
    assert set(whole.headers["allow"].split(", ")) == known
    assert (await anybody("GET", "/*")).status == 404


async def test_methods_are_in_capitals(api: Caller) -> None:
    for method, path in (("get", "/destinations"), ("Post", "/destinations"), ("post", "/events")):
        response = await api(method, path, {} if method.lower() == "post" else None, check=False)
        assert (response.status, response.code) == (405, "method_not_allowed"), method
        assert "GET" in response.headers["allow"].split(", ")
    assert (await api("get", "/nothing", check=False)).status == 404


async def test_head_is_get_without_a_body(api: Caller) -> None:
    for path in ("/destinations", "/auth/context", "/livez", f"/destinations/{ID}", "/nothing"):
        got, headed = await api("GET", path), await api("HEAD", path)
        assert headed.body == b""
        assert headed.status == got.status
        assert headed.headers["content-type"] == got.headers["content-type"]
        if got.status == 200:
            assert headed.headers["content-length"] == str(len(got.body))


async def test_request_ids_are_taken_over_where_they_are_sane(api: Caller) -> None:
    sane = await api("GET", "/livez", headers={"X-Request-Id": "a.b:c-1"})
    assert sane.headers["x-request-id"] == "a.b:c-1"
    for given in ("a b", "x" * 129, "é"):
        response = await api("GET", "/nothing", headers={"X-Request-Id": given})
        assert response.headers["x-request-id"] != given
        assert response.json["requestId"] == response.headers["x-request-id"]


async def test_the_rate_is_told_and_enforced(bridge: Bridge) -> None:
    async with open_house(bridge, control_limit=3) as house:
        house.admission._now = lambda: 1_795_235_105.0  # all within one minute
        api = await house.caller(await house.key(await house.tenant("acme")))
        told = [await api("GET", "/auth/context") for _ in range(3)]
        left = [answer.headers["x-ratelimit-remaining"] for answer in told]
        assert left == ["2", "1", "0"]
        # The limit is checked before the request itself.
        refused = await api("POST", "/destinations?bogus=1", body=b"{")
        assert (refused.status, refused.code) == (429, "rate_limited")
        assert refused.headers["retry-after"] in refused.json["message"]
        assert 1 <= int(refused.headers["retry-after"]) <= 60
        other = await house.caller(await house.key(await house.tenant("other")))
        assert (await other("GET", "/auth/context")).status == 200


MALFORMED = [
    b"",
    b" ",
    b"{",
    b"[]",
    b"null",
    b'"x"',
    b"{} {}",
    b"\xff{}",
    b'{"name": NaN}',
    b'{"name": "\xff"}',
    b'{"name": "\\ud800"}',
    b'{"\\ud800": 1}',
    b'{"name": "a", "name": "b"}',
    b'{"name": "a", "\\u006eame": "b"}',
    b'{"delivery": {"timeoutMs": 1000, "timeoutMs": 2000}}',
    b'{"name": "a\\u0000b"}',
    b'{"name": ' + b"[" * 64 + b"]" * 64 + b"}",
    b'{"name": ' + b"[" * 100_000 + b"]" * 100_000 + b"}",
    b'{"name": ' + b"9" * 5000 + b"}",
    b'\xef\xbb\xbf{"name": "a"}',
]


async def test_malformed_bodies_are_refused(api: Caller) -> None:
    made = await make(api)
    for body in MALFORMED:
        for method, path in (("POST", "/destinations"), ("PATCH", f"/destinations/{made['id']}")):
            response = await api(method, path, body=body)
            assert (response.status, response.code) == (400, "invalid_request"), body[:60]


async def test_an_action_takes_an_empty_body_in_three_ways_and_no_other(api: Caller) -> None:
    made = await make(api)
    path = f"/destinations/{made['id']}/disable"
    for body in (None, b"", b"{}", b" {} "):
        assert (await api("POST", path, body=body)).status == 200, body
    untyped = {"Content-Type": ""}
    form = {"Content-Type": "application/x-www-form-urlencoded"}  # as `curl -d ""` sends
    for headers in (untyped, form):
        assert (await api("POST", path, body=b"", headers=headers)).status == 200
    assert (await api("POST", path, body=b"{}", headers=form)).status == 415
    assert (await api("POST", path, body=b'{"x": 1}')).paths == ["x"]
    assert (await api("POST", path, body=b"[]")).code == "invalid_request"
    assert (await api("POST", path, body=b"{}", headers=untyped)).status == 415
    assert (await api("DELETE", f"/destinations/{made['id']}", body=b'{"x": 1}')).status == 400
    assert (await api("DELETE", f"/destinations/{made['id']}", body=b"{}")).status == 200


async def test_other_media_types_and_encodings_are_unsupported(api: Caller) -> None:
    body = b'{"name": "a", "url": "https://example.com"}'
    for given in ("text/plain", "application/x-www-form-urlencoded", "", "application/jsonp"):
        response = await api("POST", "/destinations", body=body, headers={"Content-Type": given})
        assert (response.status, response.code) == (415, "unsupported_media_type"), given
    for given in ("gzip", "identity"):
        response = await api(
            "POST", "/destinations", body=body, headers={"Content-Encoding": given}
        )
        assert response.status == 415
    fine = {"Content-Type": "Application/JSON; charset=utf-8"}
    assert (await api("POST", "/destinations", body=body, headers=fine)).status == 201


async def test_a_body_that_is_too_large_is_refused(api: Caller) -> None:
    body = b'{"name": "' + b"x" * 300_000 + b'"}'
    response = await api("POST", "/destinations?bogus=1", body=body)
    assert (response.status, response.code) == (413, "payload_too_large")


async def test_what_is_wrong_is_told_in_the_contracts_order(
    house: House, tenant: Tenant, reader: Caller, api: Caller
) -> None:
    anybody = await house.caller()
    wrong = {"Content-Type": "text/plain", "X-Environment": "PRODUCTION"}
    large = b"x" * 300_000
    patch = f"/destinations/{ID}?bogus=1"
    assert (await anybody("PATCH", patch, body=large, headers=wrong)).status == 401
    assert (await reader("PATCH", patch, body=large, headers=wrong)).status == 403
    assert (await api("PATCH", patch, body=large, headers=wrong)).status == 403
    del wrong["X-Environment"]
    assert (await api("PATCH", patch, body=large, headers=wrong)).status == 415
    assert (await api("PATCH", patch, body=large)).status == 413
    assert (await api("PATCH", patch, {"name": "x"})).status == 400
    assert (await api("PATCH", f"/destinations/{ID}", {"bogus": 1})).status == 400
    assert (await api("PATCH", "/destinations/x", {"bogus": 1})).status == 400
    assert (await api("PATCH", f"/destinations/{ID}", {"name": "x"})).status == 404


async def test_a_malformed_id_is_not_found(api: Caller) -> None:
    for identifier in (
        "x",
        "1",
        "%00",
        "..%2f",
        ID[:-1],
        ID + "0",
        ID.replace("-", ""),
        "%ff",
        "%C3%A9",
    ):
        for route in GUARDED:
            if "{id}" in route.path:
                path = route.path.replace("{id}", identifier)
                document: Any = {} if route.method == "PATCH" else route.example
                response = await api(route.method, path, document)
                assert (response.status, response.code) == (404, "not_found"), path


async def test_unknown_query_parameters_are_named(house: House, api: Caller) -> None:
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    browser = await house.caller(made.json["token"])
    for route in GUARDED:
        document: Any = {} if route.body is not None else None
        caller = browser if route.embed is Embed.ONLY else api
        response = await caller(route.method, path_of(route) + "?bogus=1&LIMIT=2", document)
        assert response.code == "invalid_request", route
        assert {"bogus", "LIMIT"} <= set(response.paths), route


BAD_QUERIES = [
    ("/destinations?limit=0", "limit"),
    ("/destinations?limit=1001", "limit"),
    ("/destinations?limit=", "limit"),
    ("/destinations?limit=1.5", "limit"),
    ("/destinations?limit=-1", "limit"),
    ("/destinations?limit=%C2%B2", "limit"),
    ("/destinations?status=active", "status"),
    ("/destinations?status=", "status"),
    ("/destinations?status=ACTIVE&status=DONE", "status"),
    ("/deliveries?limit=1&limit=1", "limit"),
    ("/deliveries?" + "&".join(["responseStatus=200"] * 21), "responseStatus"),
    ("/destinations?environment=development", "environment"),
    ("/destinations?environment=", "environment"),
    ("/destinations?customerAccountId=x", "customerAccountId"),
    ("/destinations?customerAccountId=", "customerAccountId"),
    ("/destinations?customer_account_id=" + ID, "customer_account_id"),
    ("/routing-rules?enabled=1", "enabled"),
    ("/routing-rules?enabled=", "enabled"),
    ("/routing-rules?destinationId=x", "destinationId"),
    ("/deliveries?limit=101", "limit"),
    ("/deliveries?eventId=x", "eventId"),
    ("/deliveries?status=DONE", "status"),
    ("/deliveries?isReplay=yes", "isReplay"),
    ("/deliveries?errorCategory=", "errorCategory"),
    ("/deliveries?errorCategory=OTHER", "errorCategory"),
    ("/deliveries?priority=LOW", "priority"),
    ("/deliveries?dlqStatus=", "dlqStatus"),
    ("/deliveries?kind=X", "kind"),
    ("/deliveries?originKind=TEST", "originKind"),
    ("/deliveries?from=2026-11-20", "from"),
    ("/deliveries?from=2026-11-20T12:00:00", "from"),
    ("/deliveries?from=2026-13-20T12:00:00Z", "from"),
    ("/deliveries?from=", "from"),
    ("/deliveries?from=2026-11-20T12:00:00Z&to=2026-11-20T11:59:59Z", "from"),
    ("/deliveries?from=1700000000", "from"),
    (f"/events/{ID}/deliveries?limit=1001", "limit"),
    (f"/destinations/{ID}/deliveries?limit=101", "limit"),
    ("/events?eventType=", "eventType"),
    ("/events?customerExternalId=a%00b", "customerExternalId"),
]


async def test_bad_query_parameters_are_named(api: Caller) -> None:
    for path, name in BAD_QUERIES:
        response = await api("GET", path)
        assert (response.status, response.code) == (400, "invalid_request"), path
        assert response.paths == [name], path
    assert (await api("GET", "/destinations?a=%ff")).status == 400
    assert (await api("GET", "/destinations?" + "a=1&" * 100)).status == 400


async def test_a_bad_cursor_is_refused_on_every_list(api: Caller, staging: Caller) -> None:
    for _ in range(2):
        await make(api)
    good = (await api("GET", "/destinations?limit=1")).json["nextCursor"]
    assert (await api("GET", f"/destinations?cursor={good}")).status == 200
    assert (await staging("GET", f"/destinations?cursor={good}")).paths == ["cursor"]
    garbage = base64.urlsafe_b64encode(b"x" * 24).decode()
    lists = ("/routing-rules", "/deliveries", "/events", f"/events/{ID}/deliveries",
             f"/destinations/{ID}/deliveries", "/destinations")  # fmt: skip
    for path in lists:
        for cursor in ("", "x", good[:-1], good + "A", garbage, "%C3%A9", "=" * 32, good):
            response = await api("GET", f"{path}?cursor={cursor}")
            if (path, cursor) != ("/destinations", good):
                assert (response.status, response.paths) == (400, ["cursor"]), (path, cursor)


async def test_a_key_that_names_another_environment_is_forbidden(api: Caller) -> None:
    other = {"X-Environment": "PRODUCTION"}
    assert (await api("GET", "/destinations", headers=other)).code == "forbidden"
    assert (await api("GET", "/destinations?environment=STAGING")).code == "forbidden"
    assert (await api("GET", "/deliveries?environment=STAGING")).code == "forbidden"
    body = {"name": "x", "url": HOOK, "environment": "STAGING"}
    assert (await api("POST", "/destinations", body)).code == "forbidden"
    own = {"X-Environment": "DEVELOPMENT"}
    assert (await api("GET", "/destinations?environment=DEVELOPMENT", headers=own)).status == 200
    assert (await api("GET", "/destinations", headers={"X-Environment": "dev"})).status == 400


async def test_an_mcp_key_names_its_environment_on_every_call(house: House, tenant: Tenant) -> None:
    mcp = await house.caller(await house.key(tenant, environment=None))
    assert (await mcp("GET", "/destinations")).code == "invalid_request"
    assert (await mcp("GET", "/destinations?environment=STAGING")).status == 200
    header = {"X-Environment": "STAGING"}
    body = {"name": "x", "url": HOOK}
    made = await mcp("POST", "/destinations", body, headers=header)
    assert made.json["environment"] == "STAGING"
    path = f"/destinations/{made.json['id']}"
    assert (await mcp("GET", path, headers=header)).status == 200
    assert (await mcp("GET", path, headers={"X-Environment": "PRODUCTION"})).status == 404
    both = await mcp("GET", "/destinations?environment=PRODUCTION", headers=header)
    assert both.code == "invalid_request"
    reading = await house.caller(await house.key(tenant, Scope.READ, environment=None))
    assert (await reading("GET", path, headers=header)).status == 200
    assert (await reading("DELETE", path, headers=header)).code == "forbidden"
    context = (await mcp("GET", "/auth/context")).json
    assert (context["kind"], context["environment"]) == ("MCP_KEY", None)
    named = (await mcp("GET", "/auth/context", headers=header)).json
    assert named["environment"] == "STAGING"


async def test_the_context_says_who_calls(house: House, tenant: Tenant) -> None:
    new = await house.keys.create(tenant, Scope.READ, Environment.PRODUCTION, "k")
    caller = await house.caller(new.secret)
    assert (await caller("GET", "/auth/context")).json == {
        "kind": CredentialKind.API_KEY.name,
        "workspaceId": tenant.workspace.id,
        "workspaceName": "acme",
        "environment": "PRODUCTION",
        "scope": "read",
        "keyId": new.key.id,
        "customerAccountId": None,
        "customerExternalId": None,
        "plan": "scale",
        "expiresAt": None,
        "returnUrl": None,
        "branding": {
            "name": None,
            "logoUrl": None,
            "colors": {"primary": None, "accent": None, "background": None, "text": None},
            "locale": None,
            "supportUrl": None,
        },
        "permissions": None,
    }


async def test_it_says_whether_it_lives_and_works(house: House) -> None:
    anybody = await house.caller()
    for path in ("/livez", "/readyz"):
        assert (await anybody("GET", path)).json == {"status": "ok"}
    house.unready = ["the database is away"]
    unready = await anybody("GET", "/readyz")
    assert (unready.status, unready.code) == (503, "overloaded")
    assert "the database is away" in unready.json["message"]
    assert int(unready.headers["retry-after"]) > 0
    assert (await anybody("GET", "/livez")).status == 200


async def test_a_fault_is_an_envelope_without_its_cause(
    house: House, api: Caller, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def broken(*_: object) -> None:
        raise RuntimeError("a secret detail")

    monkeypatch.setattr(house.log, "events", broken)
    response = await api("GET", "/events")
    assert (response.status, response.code) == (500, "internal")
    assert b"secret detail" not in response.body
    assert (await api("GET", "/auth/context")).status == 200


def test_the_names_of_the_document_are_those_of_the_engine() -> None:
    parameters = DOCUMENT["paths"]["/deliveries"]["get"]["parameters"]
    (category,) = [each for each in parameters if each["name"] == "errorCategory"]
    words = DOCUMENT["components"]["schemas"][
        category["schema"]["items"]["$ref"].rpartition("/")[2]
    ]
    assert words["enum"] == [member.name for member in ErrorCategory]
