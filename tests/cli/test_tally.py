"""The demo: it reports only counted results."""

import pytest

from api.cli.demo.screen import DemoTally


def complete(count: int = 3) -> DemoTally:
    tally = DemoTally(count)
    for number in range(count):
        tally.sent(number, 10.0)
        tally.accepted += 1
        tally.arrived(number, 10.0 + (number + 1) / 1000)
    return tally


def test_when_all_was_as_promised_there_are_no_problems() -> None:
    tally = complete()
    assert tally.complete
    assert tally.problems(in_order=True) == []
    assert tally.latency_ms(0.5) == pytest.approx(2.0)


def test_each_thing_that_was_not_is_named() -> None:
    lost = DemoTally(2)
    lost.sent(0, 0.0)
    lost.accepted = 2
    lost.arrived(0, 1.0)
    assert lost.problems(in_order=True) == ["1 of 2 events did not arrive"]

    again = complete()
    again.arrived(1, 11.0)
    assert "came again" in again.problems(in_order=False)[0]

    invented = complete()
    invented.arrived(99, 11.0)
    invented.arrived("x", 11.0)
    assert "2 webhooks were not sent" in invented.problems(in_order=False)[0]

    forged = complete()
    forged.refused += 1
    assert "no valid signature" in forged.problems(in_order=False)[0]

    unaccepted = complete()
    unaccepted.accepted -= 1
    assert "not accepted" in unaccepted.problems(in_order=False)[0]


def test_order_matters_where_it_was_promised() -> None:
    tally = DemoTally(2, accepted=2)
    tally.sent(0, 0.0)
    tally.sent(1, None)
    tally.arrived(1, 1.0)
    tally.arrived(0, 2.0)
    assert tally.problems(in_order=False) == []
    assert "out of order" in tally.problems(in_order=True)[0]
    assert tally.latencies_s == [2.0], "what was not timed is not shown as a latency"


def test_before_anything_arrived_there_is_no_latency() -> None:
    assert DemoTally(1).latency_ms(0.99) is None
