"""At the log level `debug`, a destination's machine and the intake log their decisions."""

from structlog.testing import capture_logs

from engine.actors.decisions import LoggedMachine
from engine.submission.submission import Submission, logging_submit
from tests.core.making import LIMITS, NOW, a_delivery, a_destination, a_failure


def test_a_told_machine_logs_attempts_retry_times_lanes_and_holds() -> None:
    config = a_destination(retry_schedule_s=(5, 300))
    machine = LoggedMachine(config, LIMITS, NOW, lambda: 0.5)
    with capture_logs() as lines:
        machine.arrive([a_delivery(1, lane="c1")], NOW)
        (sent,) = machine.commands(NOW, 10).send
        machine.judged(sent, a_failure(NOW, retry_after_s=60), NOW)
        machine.commands(NOW, 10)
        machine.commands(NOW, 10)
    begun, decided, held = lines
    assert (begun["event"], begun["delivery"], begun["attempt"]) == ("delivery.sent", sent.id, 1)
    assert (decided["event"], decided["status"]) == ("delivery.decided", "RETRYING")
    assert decided["retry_at"] is not None
    assert decided["lane"] == "c1"
    assert (held["event"], held["reason"]) == ("destination.held", "RETRY_AFTER")
    assert {line["log_level"] for line in lines} == {"debug"}


def test_a_routed_event_is_logged_with_its_destinations() -> None:
    deliveries = [a_delivery(1)]
    event = deliveries[0].event
    taken: list[Submission] = []
    submission = Submission([event], deliveries, [], 10, lambda _: None)
    with capture_logs() as lines:
        logging_submit(taken.append)(submission)
    assert taken == [submission]
    (line,) = lines
    assert (line["event"], line["event_id"]) == ("event.routed", event.id)
    assert (line["destinations"], line["count"]) == (["d0"], 1)
