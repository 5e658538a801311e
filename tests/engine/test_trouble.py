"""The trouble log tells of circuits and dead letters once, names the destination, and is bounded."""

from collections.abc import Mapping
from typing import Any

import pytest
import trio
from structlog.testing import capture_logs
from structlog.typing import EventDict
from trio.testing import MockClock

from engine.recording.announcer import CIRCUIT_CLOSED, CIRCUIT_OPENED, DEAD_LETTERED, DISABLED
from engine.recording.trouble import DESTINATIONS, LINES, SUM_S, TroubleLog


class Announced:
    """Keeps what is announced behind the log."""

    def __init__(self) -> None:
        self.types: list[str] = []

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


@pytest.fixture
def announced() -> Announced:
    return Announced()


@pytest.fixture
def trouble(announced: Announced) -> TroubleLog:
    return TroubleLog(announced)


def about(destination: str, **more: object) -> dict[str, object]:
    return {"destinationId": destination, "destinationName": destination.upper(), **more}


def die(trouble: TroubleLog, destination: str, delivery: str = "dlv") -> None:
    payload = about(
        destination,
        deliveryId=delivery,
        errorCategory="HTTP_5XX",
        responseStatus=500,
        lastError="500",
    )
    trouble(7, DEAD_LETTERED, payload, None, delivery)


def told(lines: list[EventDict], event: str) -> list[EventDict]:
    return [line for line in lines if line["event"] == event]


def test_circuits_and_disabled_destinations_are_told_at_once_with_id_and_name(
    trouble: TroubleLog, announced: Announced
) -> None:
    with capture_logs() as lines:
        trouble(7, CIRCUIT_OPENED, about("d", openedAt="at", nextProbeAt="then"), None, "at")
        trouble(7, CIRCUIT_CLOSED, about("d", openedAt="at", closedAt="now"), None, "at")
        trouble(7, DISABLED, about("d", reason="GONE", disabledAt="at"), None, "at")
    assert [(line["event"], line["log_level"]) for line in lines] == [
        ("destination.circuit_opened", "warning"),
        ("destination.circuit_closed", "info"),
        ("destination.disabled", "warning"),
    ]
    assert {(line["destination"], line["name"], line["environment"]) for line in lines} == {
        ("d", "D", 7)
    }
    assert (lines[0]["next_probe_at"], lines[2]["reason"]) == ("then", "GONE")
    assert announced.types == [CIRCUIT_OPENED, CIRCUIT_CLOSED, DISABLED]


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
