"""The trouble log: it reports each open circuit and dead letter once, with the destination's name. The
number of log lines in a minute is bounded."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from structlog.typing import EventDict
from trio.testing import MockClock

from engine.recording.announcer import (
    CIRCUIT_CLOSED,
    CIRCUIT_OPENED,
    DEAD_LETTERED,
    DEAD_LETTERS,
    DISABLED,
    FAILING,
    RECOVERED,
)
from engine.recording.trouble import DESTINATIONS, LINES, SINGLY, SUM_S, TroubleLog


class Announced:
    def __init__(self) -> None:
        self.types: list[str] = []
        self.payloads: list[Mapping[str, Any]] = []
        self.hops: list[int] = []

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None,
        occasion: str,
        hops: int = 0,
    ) -> None:
        self.types.append(event_type)
        self.payloads.append(payload)
        self.hops.append(hops)


@pytest.fixture
def announced() -> Announced:
    return Announced()


@pytest.fixture
def trouble(announced: Announced) -> TroubleLog:
    return TroubleLog(announced)


def about(destination: str, **more: object) -> dict[str, object]:
    return {"destinationId": destination, "destinationName": destination.upper(), **more}


def die(trouble: TroubleLog, destination: str, delivery: str = "dlv", *, hops: int = 0) -> None:
    payload = about(
        destination,
        deliveryId=delivery,
        errorCategory="HTTP_5XX",
        responseStatus=500,
        lastError="500",
        deadLetteredAt="at",
    )
    trouble(7, DEAD_LETTERED, payload, "acme", delivery, hops)


def told(lines: list[EventDict], event: str) -> list[EventDict]:
    return [line for line in lines if line["event"] == event]


def test_circuits_and_disabled_destinations_are_told_at_once_with_id_and_name(
    trouble: TroubleLog, announced: Announced
) -> None:
    with capture_logs() as lines:
        trouble(7, CIRCUIT_OPENED, about("d", openedAt="at", nextProbeAt="then"), None, "at")
        trouble(7, CIRCUIT_CLOSED, about("d", openedAt="at", closedAt="now"), None, "at")
        trouble(7, DISABLED, about("d", reason="GONE", disabledAt="at"), None, "at")
        trouble(7, FAILING, about("d", failingSince="at"), None, "at")
        trouble(7, RECOVERED, about("d", failingSince="at"), None, "at")
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("destination.circuit_opened", "warning"),
        ("destination.circuit_closed", "info"),
        ("destination.disabled", "warning"),
        ("destination.failing", "warning"),
        ("destination.recovered", "info"),
    ]
    assert {(line["destination"], line["name"], line["environment"]) for line in lines} == {
        ("d", "D", 7)
    }
    assert (lines[0]["next_probe_at"], lines[2]["reason"]) == ("then", "GONE")
    assert announced.types == [CIRCUIT_OPENED, CIRCUIT_CLOSED, DISABLED, FAILING, RECOVERED]


async def test_dead_letters_are_summed_for_each_destination_and_minute(
    trouble: TroubleLog, announced: Announced, autojump_clock: MockClock, nursery: trio.Nursery
) -> None:
    with capture_logs() as lines:
        nursery.start_soon(trouble.run)
        for delivery in ("1", "2", "3"):
            die(trouble, "worst", delivery)
        die(trouble, "other")
        assert lines == []
        await trio.sleep(SUM_S + 1)
        summed = told(lines, "deliveries.dead_lettered")
        assert [(line["destination"], line["count"]) for line in summed] == [
            ("worst", 3),
            ("other", 1),
        ]
        assert (summed[0]["last_delivery"], summed[0]["response_status"]) == ("3", 500)
        await trio.sleep(SUM_S)
        assert told(lines, "deliveries.dead_lettered") == summed
    assert announced.types == [DEAD_LETTERED] * 4


async def test_a_stop_tells_what_is_not_told_yet(trouble: TroubleLog) -> None:
    with capture_logs() as lines:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(trouble.run)
            await trio.testing.wait_all_tasks_blocked()
            die(trouble, "d")
            nursery.cancel_scope.cancel()
    assert [line["count"] for line in told(lines, "deliveries.dead_lettered")] == [1]


def test_the_lines_of_a_minute_are_bounded_and_the_rest_is_counted(trouble: TroubleLog) -> None:
    with capture_logs() as lines:
        for number in range(LINES + 5):
            trouble(7, CIRCUIT_OPENED, about(f"c{number}"), None, "at")
        assert len(lines) == LINES
        for number in range(DESTINATIONS + 3):
            die(trouble, f"d{number}")
        trouble.sum_up()
        assert len(told(lines, "deliveries.dead_lettered")) == LINES
        (rest,) = told(lines, "trouble.left_out")
        assert (rest["dead_letters"], rest["lines"]) == (DESTINATIONS + 3 - LINES, 5)
        trouble(7, CIRCUIT_OPENED, about("again"), None, "at")
        trouble.sum_up()
    assert told(lines, "trouble.left_out") == [rest]
    assert lines[-1]["destination"] == "again"


def test_dead_letters_beyond_ten_a_minute_are_announced_as_one_sum(
    trouble: TroubleLog, announced: Announced
) -> None:
    for number in range(SINGLY + 3):
        die(trouble, "d", f"dlv{number}", hops=number % 5)
    assert announced.types == [DEAD_LETTERED] * SINGLY
    trouble.sum_up()
    assert announced.types[SINGLY:] == [DEAD_LETTERS]
    told_of = announced.payloads[-1]
    assert (told_of["destinationId"], told_of["count"]) == ("d", 3)
    assert told_of["lastDeliveryId"] == f"dlv{SINGLY + 2}"
    assert announced.hops[-1] == 2
    trouble.sum_up()
    die(trouble, "d")
    assert announced.types[SINGLY:] == [DEAD_LETTERS, DEAD_LETTERED]
