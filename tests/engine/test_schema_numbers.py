"""Long numbers in payloads are expensive for a schema's check. The service estimates the cost first, and
refuses the payload if the check would take too long."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from engine.model.errors import Refusal
from engine.schemas.compiled import MAX_WORK, STEPS_BYTES, judged
from engine.schemas.numbers import may_hold_long, price, prices

UNIQUE = {"properties": {"ids": {"type": "array", "uniqueItems": True}}}
ALIKE = [10**20 + number for number in range(11_900)]  # groups of thousands share one float


def refusal_of(schema: Any, payload: str) -> Refusal:
    with pytest.raises(Refusal) as caught:
        judged(schema)[0].check(payload.encode())
    return caught.value


def test_a_list_of_long_numbers_is_refused_before_it_is_compared() -> None:
    refusal = refusal_of(UNIQUE, json.dumps({"ids": ALIKE}))
    assert refusal.code == "schema_violation"
    assert "too many long numbers" in refusal.message


def test_ordinary_ids_beyond_63_bits_are_counted_too() -> None:
    assert (
        "long numbers"
        in refusal_of(UNIQUE, json.dumps({"ids": [2**63 + n for n in range(800)]})).message
    )


def test_a_short_list_of_long_numbers_is_judged_as_any_other() -> None:
    check = judged(UNIQUE)[0].check
    check(json.dumps({"ids": ALIKE[:150]}).encode())
    with pytest.raises(Refusal, match="10000000000000"):
        check(json.dumps({"ids": [*ALIKE[:20], ALIKE[3]]}).encode())


def test_long_numbers_that_are_not_alike_are_cheap() -> None:
    judged(UNIQUE)[0].check(json.dumps({"ids": [n * 10**20 for n in range(1, 5_000)]}).encode())


def test_without_a_comparison_thousands_of_long_numbers_conform() -> None:
    judged({"items": {"type": "integer"}})[0].check(json.dumps(ALIKE).encode())


@pytest.mark.parametrize(
    ("schema", "numbers"),
    [
        ({"items": {"enum": list(range(1_500))}}, ["123456789012345678901"] * 3_000),
        ({"items": {"multipleOf": 0.01}}, ["1.7e300"] * 3_000),
        ({"items": {"type": "integer"}}, ["1e9999"] * 3_000),
        ({"items": {"const": 5}}, ["1." + "1" * 3_000] * 50),
        (
            {"items": {"$ref": "#/$defs/id"}, "$defs": {"id": {"maximum": 10**30}}},
            ["9" * 4_000] * 60,
        ),
    ],
)
def test_what_compares_long_numbers_for_long_is_refused(schema: Any, numbers: list[str]) -> None:
    assert (
        "has too many long numbers"
        in refusal_of(schema, f"[{','.join(numbers)}]").details[0].message
    )


def test_an_enumeration_of_long_numbers_is_refused_when_it_is_made() -> None:
    with pytest.raises(Refusal, match="too much is examined of one value"):
        judged({"items": {"enum": [10**25 + number for number in range(1_500)]}})


def test_names_that_fail_are_not_each_complained_of_with_the_whole_object() -> None:
    payload = json.dumps({f"k{number}": 0 for number in range(8_000)})
    for names in ({"maxLength": 1}, {"enum": [f"z{n}" for n in range(500)]}, {"pattern": "^x"}):
        assert len(refusal_of({"propertyNames": names}, payload).details) == 1


def test_required_names_of_a_large_object_are_not_each_complained_of() -> None:
    required = [f"a{number}" for number in range(1_000)]
    payload = json.dumps({f"k{number}": 0 for number in range(100)})
    assert len(refusal_of({"required": required}, payload).details) == 1
    assert len(refusal_of({"required": required[:3]}, "{}").details) == 3


def test_the_price_stops_where_it_is_too_high() -> None:
    asked = prices(UNIQUE, 1)
    assert MAX_WORK < price(ALIKE, asked, MAX_WORK) < 1.1 * MAX_WORK


def test_text_beside_a_run_of_digits_holds_no_long_number() -> None:
    assert not may_hold_long(b'{"id":"a1b2c3d4e5f6","at":1700000000000,"f":0.123456789012345678}')
    assert may_hold_long(b'{"id":9223372036854775808}')


def steps_of(schema: Any, payload: bytes) -> int:
    paused = 0

    def pause() -> None:
        nonlocal paused
        paused += 1

    check: Callable[..., None] = judged(schema)[0].check
    try:
        check(payload, pause)
    except Refusal:
        paused += 100
    return paused


def test_a_large_payload_is_checked_in_steps_and_a_small_one_at_once() -> None:
    small, large = b'{"ids":[1,2]}', json.dumps({"ids": list(range(STEPS_BYTES // 4))}).encode()
    assert steps_of(UNIQUE, small) == 0
    assert steps_of(UNIQUE, large) == 1
    assert steps_of({"type": "array"}, large) == 102
