"""Plans and their bodies: exact sizes, Zipf's law, lanes, and refused values."""

import json
from collections import Counter
from typing import Any

import pytest

from bench.load.bodies import Bodies
from bench.load.plan import LANE_SPAN, Plan

SENT = 1_795_328_000.123456


def plan(**fields: Any) -> Plan:
    return Plan(**{"url": "http://127.0.0.1:1", "key": "key", "events": 1, **fields})


def payload_bytes(body: bytes) -> int:
    return len(body) - body.index(b'"payload":') - len(b'"payload":') - 1


def test_the_event_is_the_one_of_the_first_figures() -> None:
    body = Bodies(plan()).body(7, 1, SENT)
    event = json.loads(body)
    assert len(body) == 283
    assert event["eventType"] == "bench.event"
    assert (event["payload"]["n"], event["payload"]["sentAt"]) == (7, SENT)
    assert list(event["payload"]) == ["n", "sentAt", "order", "customer", "items", "note"]


@pytest.mark.parametrize("size", [128, 200, 201, 1_000, 204_800])
@pytest.mark.parametrize("number", [0, 99, 123_456_789])
def test_a_payload_has_its_size_to_the_byte(size: int, number: int) -> None:
    body = Bodies(plan(sizes=size)).body(number, 1, SENT)
    assert payload_bytes(body) == size
    assert json.loads(body)["payload"]["n"] == number


def test_sizes_come_by_their_weights_and_the_same_again_with_the_same_seed() -> None:
    def sizes(seed: int) -> list[int]:
        bodies = Bodies(plan(sizes=[[200, 8], [2_000, 2]], seed=seed))
        return [payload_bytes(bodies.body(number, 1, SENT)) for number in range(2_000)]

    assert sizes(1) == sizes(1) != sizes(2)
    assert sizes(1).count(2_000) == pytest.approx(400, rel=0.1)
    assert set(sizes(1)) == {200, 2_000}


def types(**fields: Any) -> Counter[str]:
    bodies = Bodies(plan(**fields))
    return Counter(json.loads(bodies.body(number, 1, SENT))["eventType"] for number in range(4_000))


def test_types_are_spread_evenly_without_an_exponent() -> None:
    assert types(types=4, stem="a") == {f"a.{number}": 1_000 for number in range(4)}


@pytest.mark.parametrize("exponent", [0.5, 1.0, 1.5])
def test_the_kth_type_comes_as_often_as_zipf_says(exponent: float) -> None:
    found = types(types=50, zipf=exponent)
    for rank in (2, 4, 8):
        assert found["bench.0"] / found[f"bench.{rank - 1}"] == pytest.approx(
            rank**exponent, rel=0.3
        )


def test_lanes_are_those_of_numbers_or_of_connections() -> None:
    in_turns = Bodies(plan(lanes=3)).body(8, 1, SENT)
    own = Bodies(plan(own_lanes=True)).body(5 * LANE_SPAN + 8, 1, SENT)
    assert json.loads(in_turns)["customerExternalId"] == "c2"
    assert json.loads(own)["customerExternalId"] == "c5"


def test_customers_come_by_zipf_too_and_the_lane_is_known() -> None:
    bodies = Bodies(plan(lanes=30, zipf=1.0, keys=["a", "b", "c"], lanes_per_key=10))
    found: Counter[int] = Counter()
    for number in range(3_000):
        customer = json.loads(bodies.body(number, 1, SENT))["customerExternalId"]
        assert customer == f"c{bodies.lane}"
        found[bodies.lane] += 1
    assert found[0] / found[3] == pytest.approx(4, rel=0.25)


def test_a_batch_is_a_list_of_events() -> None:
    events = json.loads(Bodies(plan(batch=3, events=3)).body(4, 3, SENT))["events"]
    assert [event["payload"]["n"] for event in events] == [4, 5, 6]


def test_the_events_of_steps_follow_of_them() -> None:
    assert plan(events=0, steps=[[100, 2], [0.5, 1], [50, 0.1]]).events == 200 + 1 + 5


@pytest.mark.parametrize(
    ("fields", "why"),
    [
        ({"events": 0}, "events"),
        ({"connections": 0}, "connections"),
        ({"batch": 0}, "batch"),
        ({"rate": -1}, "rate"),
        ({"zipf": 1}, "types or lanes"),
        ({"types": 2, "zipf": -1}, "zipf"),
        ({"lanes": 1, "own_lanes": True}, "either lanes"),
        ({"sizes": 100}, "128"),
        ({"sizes": [[200, 0]]}, "weights"),
        ({"sizes": [[200]]}, "pairs"),
        ({"steps": [[1, 1]]}, "determine"),
        ({"steps": [[1, 1]], "events": 0, "rate": 1}, "either rate"),
        ({"steps": [[1, 0]], "events": 0}, "above 0"),
        ({"keys": ["a"], "lanes": 3, "lanes_per_key": 2}, "lanes_per_key"),
        ({"keys": ["a"], "lanes": 1, "lanes_per_key": 1, "batch": 2}, "batch of 1"),
        ({"keys_of_connection": 1}, "needs keys, and no lanes"),
    ],
)
def test_a_plan_that_makes_no_sense_says_why(fields: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        plan(**fields)
