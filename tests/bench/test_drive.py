"""The command that loads a user's own server: conditions, own payloads, and refusals."""

import json
import signal
import socket
from pathlib import Path

import pytest

from bench import drive
from bench.drive import INTERRUPTED, main
from bench.load.bodies import Bodies
from bench.load.plan import Plan
from bench.service import Receiver
from bench.thresholds import bars


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--url", "http://192.0.2.1:8080"], "--i-own-this-server"),
        (["--url", "http://192.0.2.1:8080", "--i-own-this-server"], "--receiver-url"),
        (["--url", "ftp://127.0.0.1:1"], "must begin with http:// or https://"),
        (["--url", "https://127.0.0.1:1", "--cacert", "/none.pem"], "no readable certificates"),
        (["--url", "http://127.0.0.1:1", "--cacert", "/none.pem"], "--cacert is for https"),
        (["--url", "http://127.0.0.1:1"], "does not answer"),
        (["--url", "http://127.0.0.1:1", "--duration", "5"], "needs --rate"),
        (["--url", "http://127.0.0.1:1", "--rate", "5", "--events", "5"], "omit --events"),
        (["--url", "http://127.0.0.1:1", "--rate", "1e6"], "--rate is at most"),
        (["--url", "http://127.0.0.1:1", "--rate", "5", "--duration", "1e6"], "is at most 3600"),
        (["--url", "http://127.0.0.1:1", "--fail-if", "p98>1ms"], "names no figure"),
        (["--url", "http://127.0.0.1:1", "--receiver-bind", "9000"], "is not HOST:PORT"),
        (["--url", "http://127.0.0.1:1", "--csv", "."], "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_is_posted(
    options: list[str], said: str, capfd: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([*options, "--key", "ang_dev_x"])
    assert ended.value.code == 2
    assert said in capfd.readouterr().err


def test_conditions_are_bars_of_figures() -> None:
    given = ["p99>50ms", "accept.p99.9 > 1s", "delivered<1000/s", "refused>0.1%"]
    assert bars(given) == {
        "deliveryP99Ms": {"atMost": 50.0},
        "acceptP999Ms": {"atMost": 1000.0},
        "deliveredPerSecond": {"atLeast": 1000.0},
        "refusedPercent": {"atMost": 0.1},
    }


@pytest.mark.parametrize("text", ["p99=5ms", "p99>5%", "refused>1ms", "p99>5"])
def test_a_condition_that_says_nothing_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match=text[:3]):
        bars([text])


def test_own_payloads_take_turns_and_have_the_number() -> None:
    plan = Plan(url="", key="", events=2, payloads=['{"a": "{{n}}"}', "{}"])
    made = [json.loads(Bodies(plan).body(number, 1, 1.5))["payload"] for number in (6, 7)]
    assert made == [{"n": 6, "sentAt": 1.5, "a": "6"}, {"n": 7, "sentAt": 1.5}]
    with pytest.raises(ValueError, match="JSON object"):
        Plan(url="", key="", events=1, payloads=["[]"])
    with pytest.raises(ValueError, match="must not have the fields"):
        Plan(url="", key="", events=1, payloads=['{"n": 1}'])


def test_a_receivers_port_that_is_taken_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        options = ["--url", "http://127.0.0.1:1", "--receiver-bind", f"127.0.0.1:{port}"]
        with pytest.raises(SystemExit) as ended:
            main([*options, "--key", "ang_dev_x"])
    assert ended.value.code == 2
    said = capfd.readouterr().err
    assert f"cannot listen on 127.0.0.1:{port}" in said
    assert "Traceback" not in said


def test_a_receiver_is_asked_where_it_listens() -> None:
    with Receiver(host="127.0.0.2") as receiver:
        assert receiver.counts()["received"] == 0


def test_a_run_that_is_terminated_ends_in_order(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    before = signal.getsignal(signal.SIGTERM)
    monkeypatch.setattr(drive, "_measured", lambda *_: signal.raise_signal(signal.SIGTERM))
    options = ["--url", "http://127.0.0.1:1", "--key", "ang_dev_x", "--csv", f"{tmp_path}/a/b.csv"]
    assert main(options) == INTERRUPTED
    assert "interrupted" in capfd.readouterr().err
    assert list((tmp_path / "a").iterdir()) == []
    assert signal.getsignal(signal.SIGTERM) is before
