"""A trace outlives the process that accepted the traced event. The next process continues the trace, and
both processes export spans."""

import http.client
import json

from tests.collector import Collector, Seen, open_collector
from tests.patience import HANGS_S
from tests.process.conftest import open_house
from tests.process.house import House, event
from tests.process.receiver import Receiver

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


def post(house: House, trace: str) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", house.port, timeout=HANGS_S)
    headers = {
        "authorization": f"Bearer {house.key}",
        "content-type": "application/json",
        "traceparent": trace,
    }
    connection.request("POST", "/events", json.dumps(event("1")).encode(), headers)
    assert connection.getresponse().status == 202
    connection.close()


def named(collector: Collector, *names: str) -> list[Seen]:
    found = collector.wait(lambda spans: {*names} <= {each.name for each in spans})
    return [next(each for each in found if each.name == name) for name in names]


def test_an_attempt_after_a_kill_continues_the_trace(furnished: House, receiver: Receiver) -> None:
    with (
        open_collector() as collector,
        open_house(
            furnished,
            ANGARIUM_TRACES_SAMPLE="0",
            OTEL_EXPORTER_OTLP_TRACES_ENDPOINT=collector.url + "/v1/traces",
            OTEL_EXPORTER_OTLP_COMPRESSION="gzip",
        ) as house,
    ):
        to = house.made(receiver.url + "/hook")
        house.api("POST", f"/destinations/{to}/disable", {})
        post(house, f"00-{TRACE}-{SPAN}-01")
        accept, _ = named(collector, "accept", "commit")
        house.kill()
        house.start()
        house.api("POST", f"/destinations/{to}/enable", {})
        (arrival,) = receiver.wait("/hook", lambda arrivals: len(arrivals) == 1)
        wait, attempt = named(collector, "wait", "attempt")
        assert arrival.traceparent == f"00-{TRACE}-{attempt.span}-01"
        assert wait.parent == attempt.parent == accept.span
        assert accept.resource["service.name"] == attempt.resource["service.name"] == "angarium"
        before, after = (each.resource["service.instance.id"] for each in (accept, attempt))
        assert before != after
