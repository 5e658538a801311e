"""Requests that change an object without sending a body. However large the object is, no step of the
event loop runs many lines of code."""

from collections.abc import Callable
from typing import Any

from api.table import ROUTES
from tests.service.house import ServiceHouse
from tests.service.largest import Largest, all_delivered
from tests.service.owned import Shelf, fails_where_dead, open_owners
from tests.service.receiver import Receiver
from tests.service.steps import counted_steps
from tests.service.test_steps import MOST_LINES, fill

ANSWER_BYTES = 16 * 1024  # bytes of an answer that are kept
CHANGES = [route for route in ROUTES if route.method != "GET" and route.body is None]
# Some routes cause work that continues after the answer. For each of them: the path to poll, and the
# condition that is true when the work has ended.
CONSEQUENCES: dict[str, tuple[str, Callable[[Any], bool]]] = {
    "enableDestination": ("/deliveries?limit=100", all_delivered),
    "eraseCustomer": ("", lambda customer: customer["erasure"]["finishedAt"] is not None),
}


async def test_each_change_without_a_body_has_its_largest_thing(
    house: ServiceHouse, receiver: Receiver
) -> None:
    owner = (await open_owners(house))["nobody"]
    assert Largest(house, owner, Shelf(house, receiver)).names == {each.name for each in CHANGES}


async def test_no_step_of_a_change_without_a_body_runs_many_lines(
    house: ServiceHouse, receiver: Receiver
) -> None:
    receiver.answer, receiver.says = fails_where_dead, lambda _: b"\x01" * ANSWER_BYTES
    owner = (await open_owners(house))["nobody"]
    shelf = Shelf(house, receiver)
    largest = Largest(house, owner, shelf)
    rule = await shelf.kept(owner, "routing-rules")
    fill(house, owner, await shelf.kept(owner, "destinations"), rule)
    found: dict[str, str] = {}
    for route in CHANGES:
        path = await largest.path(route)
        with counted_steps() as steps:
            answer = await owner.api(route.method, path, check=False)
            assert answer.status < 300, (route.name, answer.status, answer.body[:300])
            if route.name in CONSEQUENCES:
                seen_at, happened = CONSEQUENCES[route.name]
                thing = path.removesuffix("/enable")
                await house.until(owner.api, thing + seen_at, happened)
        if steps.most > MOST_LINES:
            found[route.name] = f"{steps.most} lines in {steps.where}"
    assert found == {}
