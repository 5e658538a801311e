"""The order in which scripts run. The tests check sequences and counts of runs, never their duration."""

from collections import Counter

import trio
import trio.testing

from engine.outbound.ports import Failure, Script, Transformed
from engine.transforms.job import PROOFS, QUICK_S, Job, KnownScript, run_of
from engine.transforms.waiting import BURST_S, CUSTOMER_PART, MOST_BYTES, MOST_JOBS, SHARE, JobQueue
from tests.transforms.house import BODY, NOW_MS, function, open_pool, performed

LOOP = function("for (;;) {}")
PLAIN = function("return event;")


def known(
    workspace: str, *, quick: bool, cost_s: float = 0.0001, customer: str | None = None
) -> KnownScript:
    script = KnownScript(workspace, "source", customer)
    script.expected_s = cost_s
    script.owed = 0 if quick else PROOFS
    return script


def job(script: KnownScript, since: float = 0.0, body: bytes = b"{}") -> Job:
    return run_of(script, body, 0, "", since, lambda result: None)


def test_workspaces_take_turns_however_much_each_has_waiting() -> None:
    waiting = JobQueue()
    many, few = known("many", quick=True), known("few", quick=True)
    for _ in range(1_000):
        waiting.add(job(many))
    for _ in range(20):
        waiting.add(job(few))
    first = [waiting.take_quick() for _ in range(60)]
    counts = Counter(each.known.workspace for each in first if each)
    assert counts["few"] == 20  # all of them, within three turns of ten runs each


def test_who_took_longer_than_expected_is_passed_over_until_the_others_had_as_much() -> None:
    waiting = JobQueue()
    slow, plain = known("slow", quick=True), known("plain", quick=True)
    for _ in range(1_000):
        waiting.add(job(slow))
        waiting.add(job(plain))
    order = []
    for _ in range(500):
        each = waiting.take_quick()
        assert each is not None
        each.expected_s = each.known.expected_s
        order.append(each.known.workspace)
        waiting.charge(each, 0.010 if each.known is slow else 0.0001, 0.0)
    counts = Counter(order)
    # A slow run takes as long as a hundred plain runs. If both workspaces got equal time, there would be
    # a hundred plain runs for each slow run. The test is content with more than twenty, because the queue
    # must first learn that the slow runs are slow.
    assert counts["plain"] > 20 * counts["slow"]


def test_a_workspace_beyond_its_share_waits_and_the_rest_does_not() -> None:
    waiting = JobQueue()
    burning, other = known("burning", quick=False), known("other", quick=False)
    waiting.add(job(burning))
    taken = waiting.take_slow(0.0)
    assert taken is not None
    for _ in range(20):
        waiting.add(job(burning))
    for _ in range(11):  # 50 ms each, together a little more than the burst
        waiting.charge(taken, 0.050, 0.0)
    assert waiting.take_slow(0.0) is None
    waiting.add(job(other))
    found = waiting.take_slow(0.0)
    assert found is not None
    assert found.known is other
    owed_s = 11 * 0.049 - BURST_S
    assert waiting.take_slow(owed_s / SHARE - 0.01) is None
    assert waiting.take_slow(owed_s / SHARE + 0.01) is not None


def test_what_waits_of_a_workspace_is_bounded_in_number_and_in_bytes() -> None:
    waiting = JobQueue()
    script = known("ours", quick=True)
    assert all(waiting.add(job(script)) for _ in range(MOST_JOBS))
    assert not waiting.add(job(script))
    assert waiting.add(job(script), first=True)  # a returned job was admitted before
    assert waiting.add(job(known("another", quick=True)))
    waiting = JobQueue()
    body = b"x" * (MOST_BYTES // 4)
    assert [waiting.add(job(script, body=body)) for _ in range(4)] == [True, True, True, False]


def test_customers_of_a_workspace_take_turns_and_fill_no_line() -> None:
    for quick in (True, False):
        waiting = JobQueue()
        ada, bob = (known("w", quick=quick, customer=name) for name in ("ada", "bob"))
        own = known("w", quick=quick)
        taken = sum(waiting.add(job(ada)) for _ in range(MOST_JOBS))
        assert taken == MOST_JOBS // CUSTOMER_PART
        for script in (bob, own):
            assert all(waiting.add(job(script)) for _ in range(5))
        first = [waiting.take_quick() if quick else waiting.take_slow(0.0) for _ in range(15)]
        assert Counter(each.known.customer for each in first if each) == {
            "ada": 5,
            "bob": 5,
            None: 5,
        }
        waiting.expired(1.0)
        assert waiting.count == 0
    waiting = JobQueue()
    body = b"x" * (MOST_BYTES // 10)
    assert [waiting.add(job(ada, body=body)) for _ in range(4)] == [True, True, False, False]
    assert waiting.add(job(own, body=body))


def test_what_waited_too_long_is_taken_out() -> None:
    waiting = JobQueue()
    for since in (1.0, 2.0, 3.0):
        waiting.add(job(known("ours", quick=True), since))
        waiting.add(job(known("ours", quick=False), since))
    assert [each.since for each in waiting.expired(2.5)] == [1.0, 2.0, 1.0, 2.0]
    assert waiting.count == 2
    waiting.expired(5.0)
    assert (waiting.count, waiting.quick, waiting.slow) == (0, False, False)


def test_a_script_is_quick_when_it_has_shown_so_and_slow_again_for_longer_each_time() -> None:
    script = KnownScript("ours", "source")
    needed = []
    for _ in range(4):
        count = 0
        while not script.quick:
            script.ran(QUICK_S)
            count += 1
        needed.append(count)
        script.ran(QUICK_S * 2)
    assert needed == [3, 12, 48, 192]


async def test_with_one_worker_a_healthy_run_waits_for_no_more_than_one_that_burns() -> None:
    async with open_pool(1) as pool:
        for _ in range(PROOFS):
            await performed(pool, PLAIN)
        order: list[str] = []
        over = trio.Event()

        def done(name: str, result: Transformed | Failure) -> None:
            order.append(name)
            if len(order) == 9:
                over.set()

        for number in range(8):
            script = Script(f"hostile {number % 2}", "id", LOOP)
            pool.run(script, BODY, NOW_MS, "s", lambda result: done("hostile", result))
        await trio.testing.wait_all_tasks_blocked()
        before = len(order)
        pool.run(
            Script("ours", "id", PLAIN), BODY, NOW_MS, "s", lambda result: done("ours", result)
        )
        await over.wait()
        assert order.index("ours") - before <= 1


async def test_with_two_workers_a_quick_script_does_not_wait_for_any_that_burns() -> None:
    async with open_pool(2) as pool:
        for _ in range(PROOFS):
            await performed(pool, PLAIN)
        hostile = 0
        burnt = trio.Event()

        def done(result: Transformed | Failure) -> None:
            nonlocal hostile
            hostile += 1
            if hostile == 8:
                burnt.set()

        for number in range(8):
            pool.run(Script(f"hostile {number}", "id", LOOP), BODY, NOW_MS, "s", done)
        # The first plain run starts the worker for quick scripts. The eight hostile runs use the other
        # worker, one after another. All fifty plain runs end before the last hostile run.
        for _ in range(50):
            assert isinstance(await performed(pool, PLAIN), Transformed)
        assert hostile < 8
        await burnt.wait()
