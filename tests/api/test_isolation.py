"""No request of one workspace or environment sees or changes what belongs to another."""

from typing import Any

import pytest

from api.table import ROUTES
from engine.control.records import Tenant
from engine.delivery_log import DeliveryDetail
from tests.api.house import Caller, House
from tests.api.test_deliveries import delivery_of, event_of, number_of
from tests.api.test_destinations import make as make_destination
from tests.api.test_rules import make as make_rule

BY_ID = [route for route in ROUTES if "{id}" in route.path]


@pytest.mark.parametrize("other_workspace", [True, False])
async def test_another_tenants_things_are_not_found_by_any_route(
    other_workspace: bool,
    api: Caller,
    house: House,
    tenant: Tenant,
    neighbour: Caller,
    staging: Caller,
) -> None:
    stranger = neighbour if other_workspace else staging
    event = event_of(number_of(tenant))
    entry = delivery_of(event)
    house.log.all_events[event.entry.id] = event
    house.log.entries.append(entry)
    house.log.details[entry.id] = DeliveryDetail(entry=entry, attempts=(), event=None, sent=None)
    destination, rule = await make_destination(api), await make_rule(api)
    ids = {
        "destinations": destination["id"],
        "routing-rules": rule["id"],
        "events": event.entry.id,
        "deliveries": entry.id,
    }
    before = [
        (await api("GET", path)).json for path in ("/destinations", "/routing-rules", "/deliveries")
    ]
    for route in BY_ID:
        path = route.path.replace("{id}", ids[route.path.split("/")[1]])
        document: Any = {} if route.body is not None else None
        response = await stranger(route.method, path, document)
        assert (response.status, response.code) == (404, "not_found"), route.path
        nothing = await stranger(
            route.method, route.path.replace("{id}", entry.id[:-3] + "fff"), document
        )
        assert nothing.json["message"] == response.json["message"], "existence is never revealed"
    for path in ("/destinations", "/routing-rules", "/deliveries", "/events"):
        assert (await stranger("GET", path)).json["items"] == [], path
    listed = await stranger("GET", f"/routing-rules?destinationId={destination['id']}")
    assert listed.json["items"] == []
    after = [
        (await api("GET", path)).json for path in ("/destinations", "/routing-rules", "/deliveries")
    ]
    assert after == before
    for route in BY_ID:
        if route.method == "GET":
            path = route.path.replace("{id}", ids[route.path.split("/")[1]])
            assert (await api("GET", path, check=False)).status == 200, path
