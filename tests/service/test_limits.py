"""Rate limits on a whole server: windows, headers, and answers beyond the limit."""

import re
import time

import pytest

from api.admission import AdmissionControl, AdmissionRefusal
from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from tests.api.house import Caller, Response
from tests.cases import each_case
from tests.service.house import ServiceHouse, open_service

EVENT = {"eventType": "a.b", "payload": {}}


def rate(response: Response) -> tuple[int, int, int]:
    limit, remaining, reset = (
        int(response.headers[f"x-ratelimit-{name}"]) for name in ("limit", "remaining", "reset")
    )
    return limit, remaining, reset


@each_case(
    ("plan", "control", "ingest"),
    [("free", 120, 6_000), ("pro", 1_200, 600_000), ("scale", 12_000, 60_000_000)],
)
async def test_a_plan_has_a_limit_for_the_control_plane_and_one_for_ingestion(
    house: ServiceHouse, plan: str, control: int, ingest: int
) -> None:
    api = await house.caller(await house.tenant(plan, plan))
    first, second = await api("GET", "/destinations"), await api("GET", "/destinations")
    event, another = await api("POST", "/events", EVENT), await api("POST", "/events", EVENT)
    assert rate(first)[0] == rate(second)[0] == control
    assert rate(event)[0] == rate(another)[0] == ingest
    if rate(first)[2] == rate(another)[2]:  # if all requests were in one window
        assert [rate(each)[1] for each in (first, second)] == [control - 1, control - 2]
        assert [rate(each)[1] for each in (event, another)] == [ingest - 1, ingest - 2]


async def test_past_the_limit_the_answer_states_the_wait_and_only_that_tenants_control_plane_waits(
    bridge: Bridge,
) -> None:
    async with open_service(bridge, control_rate_limit=5) as house:
        acme, other = await house.tenant("acme"), await house.tenant("other")
        api, reader = await house.caller(acme), await house.caller(acme, Scope.READ)
        began = time.time()
        answers = [await each("GET", "/destinations") for each in (api, reader) * 6]
        spent = [each for each in answers if each.status == 429]
        assert spent  # twelve requests in at most two windows of five
        for refused in spent:
            limit, remaining, reset = rate(refused)
            assert (refused.code, limit, remaining) == ("rate_limited", 5, 0)
            assert reset % 60 == 0
            wait = int(refused.headers["retry-after"])
            assert 1 <= wait <= 60
            assert re.search(rf"\b{wait} s", refused.json["message"])
            assert began - 2 < reset - wait < time.time() + 2
        assert (await api("POST", "/events", EVENT)).status == 202
        assert (await (await house.caller(other))("GET", "/destinations")).status == 200


async def test_every_answer_states_the_rate(house: ServiceHouse, api: Caller) -> None:
    nobody = house.caller_with(None)
    for caller, method, path, document, status in (
        (nobody, "GET", "/livez", None, 200),
        (nobody, "GET", "/nowhere", None, 404),
        (nobody, "GET", "/destinations", None, 401),
        (nobody, "POST", "/events", EVENT, 401),
        (nobody, "OPTIONS", "/destinations", None, 204),
        (api, "PUT", "/destinations", {}, 405),
        (api, "GET", "/destinations?limit=0", None, 400),
        (api, "GET", "/destinations/x", None, 404),
        (api, "POST", "/events", {}, 400),
        (api, "HEAD", "/destinations", None, 200),
    ):
        began = time.time()
        answer = await caller(method, path, document)
        assert answer.status == status, (method, path)
        limit, remaining, reset = rate(answer)
        assert limit >= remaining >= 0
        assert began < reset <= time.time() + 61


async def test_windows_are_forgotten_with_their_minute(house: ServiceHouse, tenant: Tenant) -> None:
    now = [1_700_000_000.0]
    admission = AdmissionControl(house.server.models, lambda: now[0], house.server.plans)
    made = await house.keys.create(tenant, Scope.MANAGE, None, "k")
    head = b"Bearer " + made.secret.encode()
    first = admission.admit(head, frozenset(Scope), ingestion=False).allowance
    admission.admit(head, frozenset(Scope), ingestion=True)
    assert admission.windows == 2
    now[0] = float(first.reset)
    following = admission.admit(head, frozenset(Scope), ingestion=False).allowance
    assert admission.windows == 1
    assert (following.reset, following.remaining) == (first.reset + 60, following.limit - 1)
    now[0] -= 3_600
    earlier = admission.admit(head, frozenset(Scope), ingestion=False).allowance
    assert earlier.reset == now[0] + 60


async def test_what_was_spent_stays_spent_when_the_plan_goes_down_and_up_again(
    house: ServiceHouse, tenant: Tenant
) -> None:
    admission = AdmissionControl(house.server.models, lambda: 1_700_000_000.0, house.server.plans)
    made = await house.keys.create(tenant, Scope.MANAGE, None, "k")
    head = b"Bearer " + made.secret.encode()

    def left() -> int:
        return admission.admit(head, frozenset(Scope), ingestion=False).allowance.remaining

    for _ in range(200):
        left()
    before = left()
    name = tenant.workspace.name
    await house.keys.set_plan(name, "free")  # 120 a minute
    with pytest.raises(AdmissionRefusal) as refusal:
        left()
    assert (refusal.value.allowance.limit, refusal.value.allowance.remaining) == (120, 0)
    await house.keys.set_plan(name, "scale")
    assert left() == before - 1
