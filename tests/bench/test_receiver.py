"""The receiver: its behavior as pure decisions, and the process itself over HTTP and HTTPS."""

import json
import math
import random
import ssl
import statistics
import urllib.error
import urllib.request
from collections.abc import Iterator
from typing import Any

import msgspec
import pytest

from bench.latency import decoded
from bench.receiver.behaviour import LONGEST_S, NEVER, WELL, Answer, Behaviour, read
from bench.receiver.record import Record
from bench.service import Receiver


def behaviour(**fields: Any) -> Behaviour:
    return read(msgspec.json.encode(fields))


def drawn(count: int = 4_000, **latency: Any) -> list[float]:
    chance = random.Random(1)
    made = behaviour(latency=latency)
    return [made.answer(0, number, chance).after_s for number in range(1, count + 1)]


def test_a_fixed_latency_is_always_the_same() -> None:
    assert set(drawn(kind="fixed", ms=200)) == {0.2}


def test_the_median_of_a_log_normal_latency_is_as_said_and_its_spread_too() -> None:
    found = drawn(kind="lognormal", ms=50, sigma=0.5)
    assert statistics.median(found) == pytest.approx(0.05, rel=0.05)
    assert statistics.stdev(math.log(each) for each in found) == pytest.approx(0.5, rel=0.05)


def test_a_heavy_tail_begins_at_its_least_and_ends_at_a_bound() -> None:
    found = sorted(drawn(kind="pareto", ms=20, alpha=1.0))
    assert found[0] >= 0.02
    assert found[len(found) // 2] == pytest.approx(0.04, rel=0.1)
    assert found[-len(found) // 100] > 1
    assert max(drawn(kind="pareto", ms=20, alpha=0.1)) == LONGEST_S


def test_a_share_fails_and_the_same_requests_again_with_the_same_seed() -> None:
    def failed(seed: int) -> list[int]:
        chance = random.Random(seed)
        made = behaviour(fail=0.2, failStatus=503)
        return [n for n in range(1, 5_001) if made.answer(0, n, chance).status == 503]

    assert failed(1) == failed(1) != failed(2)
    assert len(failed(1)) == pytest.approx(1_000, rel=0.1)


def test_every_so_many_th_fails() -> None:
    made = behaviour(failEvery=3)
    statuses = [made.answer(0, number, random.Random(1)).status for number in range(1, 7)]
    assert statuses == [200, 200, 500, 200, 200, 500]


@pytest.mark.parametrize(
    ("since_s", "answer"),
    [
        (0.0, WELL),
        (7.9, WELL),
        (8.0, Answer(500)),
        (11.9, Answer(500)),
        (12.0, Answer(after_s=1.0, hung=True)),
        (12.75, Answer(after_s=0.25, hung=True)),
        (13.0, WELL),
        (34.0, Answer(500)),
    ],
)
def test_who_flaps_is_well_then_fails_then_hangs_until_it_is_well(
    since_s: float, answer: Answer
) -> None:
    made = behaviour(flap={"well_s": 8, "failing_s": 4, "hanging_s": 1})
    assert made.answer(since_s, 1, random.Random(1)) == answer


def test_the_dead_never_answer() -> None:
    assert behaviour(dead=True).answer(0, 1, random.Random(1)) is NEVER


def test_the_longest_prefix_of_a_path_counts() -> None:
    made = behaviour(fail=1, paths={"/a": {"dead": True}, "/a/b": {"latency": {"kind": "none"}}})
    assert made.of("/c").fail == 1
    assert made.of("/a/x").dead
    assert made.of("/a/b/1").plain
    assert not made.plain


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"fail": 1.5}, "share"),
        ({"failStatus": 200}, "400 to 599"),
        ({"failEvery": -1}, "failEvery"),
        ({"latency": {"kind": "gamma"}}, "unknown kind of latency"),
        ({"latency": {"kind": "fixed", "ms": -1}}, "0 or more"),
        ({"latency": {"kind": "pareto", "ms": 1, "alpha": 0}}, "alpha"),
        ({"latency": {"kind": "fixed", "millis": 1}}, "millis"),
        ({"flap": {"well_s": 0}}, "above"),
        ({"paths": {"/a": {"paths": {"/b": {}}}}}, "must not have paths"),
        ({"deaf": True}, "deaf"),
    ],
)
def test_a_behaviour_that_makes_no_sense_says_why(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        behaviour(**fields)


def test_a_record_counts_numbers_paths_and_disorder() -> None:
    record = Record()
    for path, number in (("/a", 0), ("/a", 3), ("/a", 1), ("/b", 1), ("/a", 3)):
        record.arrive(record.place(path), b'{"data":{"n":%d,"sentAt":0.5}}' % number)
    counts = record.stats()
    assert (counts["received"], counts["unique"], counts["duplicates"]) == (5, 4, 1)
    assert (counts["paths"], counts["leastOfAPath"], counts["mostOfAPath"]) == (2, 1, 4)
    assert record.by_path() == {"/a": 4, "/b": 1}
    assert [record.disorder(lanes=2), record.disorder(lanes=3), record.disorder()] == [1, 0, 1]
    assert record.disorder(span=2) == 0
    assert [entry[:2] for entry in record.log()][:2] == [("/a", 0), ("/a", 3)]


@pytest.mark.parametrize(
    ("body", "latencies"),
    [
        (b'{"n":1,"sentAt":1.5}', 1),
        (b'{"n" : 1, "x": 2, "sentAt": 1.5}', 1),
        (b'{"sentAt":1.5,"n":1}', 1),
        (b'{"n":1}', 0),
        (b"nothing of ours", 0),
    ],
)
def test_a_latency_is_there_where_the_body_says_when_it_was_sent(
    body: bytes, latencies: int
) -> None:
    record = Record()
    record.arrive(record.place("/a"), body)
    assert decoded(record.stats()["latency"]).get_total_count() == latencies
    assert record.counts()["received"] == 1


@pytest.fixture(scope="module")
def receiver() -> Iterator[Receiver]:
    with Receiver(tls=True) as made:
        yield made


def post(receiver: Receiver, path: str, number: int, *, tls: bool = False) -> int:
    context = ssl.create_default_context(cafile=receiver.authority) if tls else None
    url = (receiver.https if tls else receiver.url) + path
    opener = urllib.request.build_opener(
        urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=context)
    )
    body = json.dumps({"data": {"n": number, "sentAt": 1_795_328_000.5}}).encode()
    try:
        with opener.open(urllib.request.Request(url, body), timeout=30) as answer:
            return int(answer.status)
    except urllib.error.HTTPError as error:
        with error:
            return error.code


def test_it_counts_what_comes_over_http_and_https(receiver: Receiver) -> None:
    receiver.reset()
    assert [post(receiver, "/hook?x=1", 2), post(receiver, "/hook", 1, tls=True)] == [200, 200]
    stats = receiver.stats()
    assert (stats["requests"], stats["unique"], stats["duplicates"]) == (2, 2, 0)
    assert decoded(stats["latency"]).get_total_count() == 2
    assert decoded(receiver.stats(first=2, end=3)["latency"]).get_total_count() == 1
    assert receiver.paths() == {"/hook": 2}
    assert [receiver.disorder(), receiver.disorder(lanes=2)] == [1, 0]
    assert [(path, number) for path, number, _ in receiver.log()] == [("/hook", 2), ("/hook", 1)]
    assert receiver.wait(2)["received"] == 2


def test_it_behaves_by_path_as_it_was_told(receiver: Receiver) -> None:
    receiver.reset({"paths": {"/bad": {"fail": 1, "failStatus": 503}}})
    assert [post(receiver, "/bad/1", 1), post(receiver, "/good", 1)] == [503, 200]
    counts = receiver.counts()
    assert (counts["failed"], counts["received"], counts["requests"]) == (1, 1, 2)
    receiver.reset(fail_every=2, delay_ms=1)
    assert [post(receiver, "/hook", number) for number in range(4)] == [200, 500, 200, 500]


def test_what_it_cannot_do_is_refused_and_changes_nothing(receiver: Receiver) -> None:
    receiver.reset()
    post(receiver, "/hook", 1)
    with pytest.raises(RuntimeError, match=r"400.*unknown kind of latency"):
        receiver.reset({"latency": {"kind": "gamma"}})
    assert receiver.counts()["received"] == 1
