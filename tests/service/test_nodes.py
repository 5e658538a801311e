"""The servers of an installation, through its API."""

from engine.core.vocabulary import Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.service.house import ServiceHouse

PATH = "/observability/nodes"


async def test_a_server_alone_lists_itself_with_all_leases(
    house: ServiceHouse, api: Caller
) -> None:
    page = await house.until(api, PATH, lambda page: page["items"])
    assert page["nextCursor"] is None
    (node,) = page["items"]
    assert node["role"] == "ACTIVE"
    assert (node["state"], node["answering"], node["address"]) == ("LIVE", True, None)


async def test_only_manage_keys_of_the_first_workspace_see_nodes(
    house: ServiceHouse, tenant: Tenant
) -> None:
    later = await house.tenant("later")
    statuses = {
        scope: (await (await house.caller(tenant, scope))("GET", PATH)).status for scope in Scope
    }
    assert statuses == {Scope.INGEST: 403, Scope.READ: 403, Scope.MANAGE: 200}
    assert (await (await house.caller(later))("GET", PATH)).status == 403


async def test_a_drained_machine_works_while_no_other_can(house: ServiceHouse, api: Caller) -> None:
    page = await house.until(api, PATH, lambda page: page["items"])
    machine = page["items"][0]["machine"]
    assert (await api("POST", f"{PATH}/nobody/drain", {})).status == 404
    assert (await api("POST", f"{PATH}/nobody/undrain")).status == 404
    for drained in (True, False):
        verb = "drain" if drained else "undrain"
        for _ in range(2):
            assert (await api("POST", f"{PATH}/{machine}/{verb}")).status == 200
        page = await house.until(
            api, PATH, lambda page, drained=drained: page["items"][0]["drained"] is drained
        )
        assert page["items"][0]["role"] == "ACTIVE"
