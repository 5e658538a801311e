"""Requests of one workspace wait in its own bounded line, and do not delay other workspaces."""

from collections import Counter
from contextlib import AsyncExitStack

import pytest
import trio
from structlog.testing import capture_logs
from trio.testing import MockClock, wait_all_tasks_blocked

from api.door.http2 import STREAMS
from api.shares import (
    COUNTED_S,
    KEYS,
    MOST_REST_S,
    QUEUED,
    QUEUED_CUSTOMER,
    RETRY_AFTER_S,
    WAIT_S,
    Share,
    WorkspaceShare,
    shares_of,
)
from api.table import ROUTES
from engine.model.configuration import Tenant
from engine.model.errors import Refusal
from engine.settings import Settings
from tests.api.house import Caller, House


class Crowd:
    """Requests that take places of a share. `let_go` ends the given number of requests, oldest first."""

    def __init__(self, share: WorkspaceShare) -> None:
        self.share = share
        self.at_work: list[str] = []
        self.refused: list[Refusal] = []
        self._go = trio.Semaphore(0)

    async def request(self, workspace: str, caller: str | None = None) -> None:
        try:
            async with self.share.place(workspace, KEYS if caller is None else caller):
                self.at_work.append(workspace if caller is None else caller)
                await self._go.acquire()
        except Refusal as refusal:
            self.refused.append(refusal)

    def let_go(self, count: int) -> None:
        for _ in range(count):
            self._go.release()


async def test_a_workspace_that_asks_without_end_has_its_places_and_others_theirs() -> None:
    crowd = Crowd(WorkspaceShare("reads", 2, queued=10))
    async with trio.open_nursery() as nursery:
        for _ in range(8):
            nursery.start_soon(crowd.request, "greedy")
        await wait_all_tasks_blocked()
        nursery.start_soon(crowd.request, "other")
        await wait_all_tasks_blocked()
        assert crowd.at_work == ["greedy", "greedy", "other"]
        found = crowd.share.statistics()
        assert (found.workspaces, found.at_work, found.waiting) == (2, 3, 6)
        crowd.let_go(9)
    assert crowd.at_work.count("greedy") == 8
    assert crowd.share.statistics().workspaces == 0  # no state of an absent workspace is kept


async def test_beyond_its_line_a_workspace_is_refused_and_that_is_logged_once() -> None:
    crowd = Crowd(WorkspaceShare("reads", 1, queued=2))
    with capture_logs() as logs:
        async with trio.open_nursery() as nursery:
            for _ in range(6):
                nursery.start_soon(crowd.request, "greedy")
            await wait_all_tasks_blocked()
            nursery.start_soon(crowd.request, "other")
            await wait_all_tasks_blocked()
            assert [refusal.status for refusal in crowd.refused] == [503] * 3
            assert {refusal.retry_after_s for refusal in crowd.refused} == {RETRY_AFTER_S}
            assert "other" in crowd.at_work
            crowd.let_go(4)
    told = [(each["event"], each["share"], each["workspace"]) for each in logs]
    assert told == [("api.share_used_up", "reads", "greedy")]
    assert crowd.share.statistics().refused == 3


async def test_who_waits_too_long_is_refused_before_anything_was_begun(
    mock_clock: MockClock,
) -> None:
    crowd = Crowd(WorkspaceShare("writes", 1))
    async with trio.open_nursery() as nursery:
        for _ in range(2):
            nursery.start_soon(crowd.request, "w")
        await wait_all_tasks_blocked()
        mock_clock.jump(WAIT_S + 0.1)
        await wait_all_tasks_blocked()
        assert [refusal.code for refusal in crowd.refused] == ["overloaded"]
        crowd.let_go(1)
    assert crowd.at_work == ["w"]


async def test_who_goes_away_while_it_waits_leaves_its_place_to_the_next() -> None:
    crowd = Crowd(WorkspaceShare("reads", 1))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(crowd.request, "w")
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as impatient:
            impatient.start_soon(crowd.request, "w")
            await wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
        nursery.start_soon(crowd.request, "w")
        await wait_all_tasks_blocked()
        crowd.let_go(2)
    assert crowd.at_work == ["w", "w"]


async def worked(share: WorkspaceShare, seconds: float, began: list[float]) -> None:
    async with share.place("w"):
        began.append(trio.current_time())
        await trio.sleep(seconds)


async def test_who_asks_one_after_the_other_is_never_kept_waiting(
    autojump_clock: MockClock,
) -> None:
    share, began = WorkspaceShare("writes", 4), list[float]()

    async def one_after_the_other(left: int) -> None:
        async with share.place("w"):
            began.append(trio.current_time())
            await trio.sleep(0.01)
            if left:  # the next request arrives before this one leaves, so the line's state remains
                nursery.start_soon(one_after_the_other, left - 1)
                await wait_all_tasks_blocked()

    async with trio.open_nursery() as nursery:
        nursery.start_soon(one_after_the_other, 11)
    assert [round((at - began[0]) * 100, 3) for at in began] == list(range(12))


async def test_of_who_asks_all_the_time_one_request_is_at_work_on_the_average(
    autojump_clock: MockClock,
) -> None:
    for at_once in (1, 2, 4):
        share, began = WorkspaceShare("reads", at_once), list[float]()
        start = trio.current_time()
        async with trio.open_nursery() as nursery:
            for _ in range(10 * at_once):
                nursery.start_soon(worked, share, 0.01, began)
        assert began[at_once - 1] == start  # a few at a time have all places
        last = began[-1] - start
        assert last == pytest.approx(9 * at_once * 0.01)
        assert share.statistics().workspaces == 0


async def test_what_waits_for_the_database_rests_no_longer_than_what_it_may_cost_the_loop(
    autojump_clock: MockClock,
) -> None:
    share, began = WorkspaceShare("reads", 2), list[float]()
    async with trio.open_nursery() as nursery:
        for _ in range(3):
            nursery.start_soon(worked, share, 2.0, began)
    assert began[2] - began[0] == pytest.approx(2.0 + COUNTED_S)


async def test_where_there_are_many_places_nobody_is_refused_for_their_rest(
    autojump_clock: MockClock,
) -> None:
    share, began = WorkspaceShare("reads", 200), list[float]()
    async with trio.open_nursery() as nursery:
        for _ in range(201):
            nursery.start_soon(worked, share, COUNTED_S, began)
    assert began[200] - began[0] == pytest.approx(COUNTED_S + MOST_REST_S)


async def test_what_waits_for_a_receiver_does_not_rest(autojump_clock: MockClock) -> None:
    share, began = shares_of(Settings(control_outward_workspace=2)).outward, list[float]()
    async with trio.open_nursery() as nursery:
        for _ in range(4):
            nursery.start_soon(worked, share, 1.0, began)
    assert began[3] - began[0] == pytest.approx(1.0)


async def test_who_goes_away_while_a_place_rests_leaves_it_to_the_next(
    autojump_clock: MockClock,
) -> None:
    share, began = WorkspaceShare("reads", 2), list[float]()
    async with trio.open_nursery() as nursery:
        for seconds in (0.02, 0.02, 5.0):
            nursery.start_soon(worked, share, seconds, began)
            await wait_all_tasks_blocked()
        # The first two requests take 0.02 s. In a share of two places, a place whose request has ended
        # stays empty for as long as this request took. So no other request can use the two places before
        # 0.04 s.
        with trio.move_on_after(0.03):
            await worked(share, 0.01, began)
        assert len(began) == 2
        await worked(share, 0.01, began)
    assert [round(at - began[0], 3) for at in began] == [0.0, 0.0, 0.04, 0.04]


@pytest.mark.parametrize(
    ("method", "path", "share"),
    [
        ("GET", "/deliveries", "reads"),
        ("GET", "/destinations/{id}/analytics", "reads"),
        ("POST", "/schemas/infer", "reads"),
        ("PATCH", "/routing-rules/{id}", "writes"),
        ("POST", "/destinations/{id}/test", "outward"),
        ("POST", "/transform-scripts/preview", "outward"),
        ("POST", "/transform-scripts/{id}/run", "outward"),
    ],
)
def test_a_route_counts_on_what_it_takes(method: str, path: str, share: str) -> None:
    shares = shares_of(Settings())
    (route,) = [each for each in ROUTES if (each.method, each.path) == (method, path)]
    assert shares.of(route.method, route.share) is getattr(shares, share)


async def test_as_many_requests_as_a_connection_has_streams_are_all_served() -> None:
    crowd = Crowd(shares_of(Settings()).reads)
    async with trio.open_nursery() as nursery:
        for _ in range(STREAMS):
            nursery.start_soon(crowd.request, "w")
        await wait_all_tasks_blocked()
        assert crowd.refused == []
        crowd.let_go(STREAMS)
    assert crowd.at_work == ["w"] * STREAMS


def test_every_share_is_used() -> None:
    shares = shares_of(Settings())
    used = {id(shares.of(route.method, route.share)) for route in ROUTES}
    assert len(used) == len(Share)


async def test_who_has_too_many_reads_under_way_is_told_so_and_nobody_else_is(
    house: House, tenant: Tenant, api: Caller, neighbour: Caller
) -> None:
    reads, at_once = house.shares.reads, Settings().control_reads_workspace
    async with AsyncExitStack() as held, trio.open_nursery() as nursery:
        for _ in range(at_once):
            await held.enter_async_context(reads.place(tenant.workspace.id))
        crowd = Crowd(reads)
        for _ in range(QUEUED):
            nursery.start_soon(crowd.request, tenant.workspace.id)
        await wait_all_tasks_blocked()
        answer = await api("GET", "/deliveries")
        assert (answer.status, answer.json["code"]) == (503, "overloaded")
        assert answer.headers["retry-after"] == str(RETRY_AFTER_S)
        assert (await neighbour("GET", "/deliveries")).status == 200
        assert (await api("GET", "/livez")).status == 200  # it reads no data
        rule = {"name": "r", "eventTypes": ["a"], "destinationId": tenant.workspace.id}
        assert (
            await api("POST", "/routing-rules", rule)
        ).status == 404  # changes have their own place
        nursery.cancel_scope.cancel()
    assert (await api("GET", "/deliveries")).status == 200


async def test_a_customer_takes_its_part_of_the_places_and_no_turn_of_others() -> None:
    crowd = Crowd(WorkspaceShare("outward", 8, queued=30, rests=False))
    async with trio.open_nursery() as nursery:
        for _ in range(QUEUED_CUSTOMER + 3):
            nursery.start_soon(crowd.request, "w", "ada")
        await wait_all_tasks_blocked()
        assert crowd.at_work == ["ada"] * 2  # a quarter of the places
        assert [refusal.status for refusal in crowd.refused] == [503] * 3
        for caller in ("bob", "cleo", "dan", KEYS, KEYS, KEYS):
            for _ in range(2):
                nursery.start_soon(crowd.request, "w", caller)
        await wait_all_tasks_blocked()
        # All customers together can have 6 of the 8 places. The requests with API keys have the other 2.
        at_work = Counter(crowd.at_work)
        assert sum(count for caller, count in at_work.items() if caller != KEYS) <= 6
        assert at_work["ada"] == 2
        assert sum(at_work.values()) == 8
        crowd.let_go(8)
        await wait_all_tasks_blocked()
        assert set(crowd.at_work) == {"ada", "bob", "cleo", "dan", KEYS}
        crowd.let_go(QUEUED_CUSTOMER + 12 - 8)
    assert Counter(crowd.at_work) == {
        "ada": QUEUED_CUSTOMER,
        "bob": 2,
        "cleo": 2,
        "dan": 2,
        KEYS: 6,
    }
    assert crowd.share.statistics().workspaces == 0


async def test_customers_that_wait_leave_the_keys_their_line() -> None:
    crowd = Crowd(WorkspaceShare("reads", 2, queued=30))
    async with trio.open_nursery() as nursery:
        for number in range(4):
            for _ in range(QUEUED_CUSTOMER):
                nursery.start_soon(crowd.request, "w", f"customer {number}")
        await wait_all_tasks_blocked()
        assert len(crowd.at_work) == 1  # the other place is reserved for keys
        assert len(crowd.refused) == 4 * QUEUED_CUSTOMER - 32
        nursery.start_soon(crowd.request, "w", KEYS)
        await wait_all_tasks_blocked()
        assert crowd.at_work[-1] == KEYS
        crowd.let_go(33)


async def test_a_customer_that_gives_up_waiting_leaves_nothing() -> None:
    crowd = Crowd(WorkspaceShare("writes", 4))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(crowd.request, "w", "ada")
        await wait_all_tasks_blocked()
        async with trio.open_nursery() as others:
            others.start_soon(crowd.request, "w", "ada")
            await wait_all_tasks_blocked()
            others.cancel_scope.cancel()
        assert crowd.share.statistics().waiting == 0
        nursery.start_soon(crowd.request, "w", "bob")
        await wait_all_tasks_blocked()
        assert crowd.at_work == ["ada", "bob"]
        crowd.let_go(2)
    assert crowd.share.statistics().workspaces == 0
