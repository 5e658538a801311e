"""The search for a receiver's best concurrency: the latencies that the command accepts, the knee (the
lowest setting that is as good as the best), and the comparison of the setting `auto` with the others."""

import io

import pytest
from rich.console import Console

from bench.receiver.behaviour import Answer, Behaviour
from bench.receiver.record import Place
from bench.results import Measurement, Step
from bench.tune import (
    ABOUT_KNEE,
    AUTO,
    BATCH,
    MOST_EVENTS,
    Wanted,
    judged,
    knee_of,
    latency_of,
    main,
    not_reached,
    show,
)


def a_step(width: int, per_second: float, p99: float, *, name: str = "concurrency") -> Step:
    figures = {"deliveredPerSecond": per_second, "answerP99Ms": p99, "suggested": 9.0}
    figures["answerP50Ms"] = p99 / 2
    return Step(name, width, figures | {"eventP99Ms": p99})


STEPS = [
    a_step(4, 40, 100), a_step(8, 80, 100), a_step(16, 156, 102), a_step(32, 160, 205),
    a_step(17, 152, 110, name=AUTO),
]  # fmt: skip


@pytest.mark.parametrize(
    ("text", "latency"),
    [
        ("none", {"kind": "none"}),
        ("fixed:200", {"kind": "fixed", "ms": 200.0}),
        ("lognormal:200", {"kind": "lognormal", "ms": 200.0}),
        ("lognormal:200:0.5", {"kind": "lognormal", "ms": 200.0, "sigma": 0.5}),
        ("pareto:50:1.5", {"kind": "pareto", "ms": 50.0, "alpha": 1.5}),
    ],
)
def test_a_latency_is_written_as_its_kind_and_numbers(text: str, latency: object) -> None:
    assert latency_of(text) == latency


@pytest.mark.parametrize(
    "arguments",
    [
        ["--destination-latency", "slow:200"],
        ["--destination-latency", "fixed"],
        ["--destination-latency", "none:1"],
        ["--destination-latency", "fixed:x"],
        ["--destination-latency", "fixed:-1"],
        ["--places", "-1"],
        ["--concurrency", "0,8"],
        ["--concurrency", "257"],
        ["--concurrency", "8;9"],
        ["--rate", "-1"],
        ["--seconds", "0"],
    ],
)
def test_what_makes_no_sense_is_refused(
    arguments: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as end:
        main(arguments)
    assert end.value.code == 2
    assert "error:" in capsys.readouterr().err


def test_the_knee_is_the_least_setting_that_is_as_good_as_the_best() -> None:
    assert knee_of(STEPS).value == 16
    assert knee_of(STEPS, rate=100).value == 16
    late = [a_step(8, 100, 900), a_step(16, 100, 30), a_step(32, 100, 20)]
    assert knee_of(late, rate=100).value == 16
    assert knee_of(late).value == 8


def test_a_knee_at_the_highest_setting_that_was_tried_was_not_reached() -> None:
    linear = [a_step(8, 40, 200), a_step(16, 80, 200), a_step(32, 158, 205)]
    assert "32" in not_reached(linear)
    assert not_reached([a_step(8, 40, 200)])
    assert not not_reached(STEPS)
    assert not not_reached(linear, rate=160), "all that was sent was delivered"
    assert not_reached(linear, rate=200)


def test_what_is_printed_names_no_knee_that_was_not_seen() -> None:
    wanted = Wanted({"latency": latency_of("fixed:200")})
    for steps, shown, hidden in (
        (STEPS, "16 knee", "not reached"),
        ([*STEPS[:2], STEPS[-1]], "not reached", "8 knee"),
    ):
        said = not_reached(steps)
        found = Measurement(judged(steps), steps=steps, notes={ABOUT_KNEE: said} if said else {})
        console = Console(width=120, record=True, file=io.StringIO())
        show(wanted, found, console)
        text = console.export_text()
        assert shown in text
        assert hidden not in text


def test_auto_is_judged_by_the_best_throughput_and_the_knees_answers() -> None:
    figures = judged(STEPS)
    assert (figures["knee"], figures["autoConcurrency"]) == (16, 17)
    assert figures["autoOfBest"] == 0.95
    assert figures["autoP99OfKnee"] == round(110 / 102, 3)
    assert figures["suggestedAtKnee"] == 9


def test_there_are_events_left_when_the_last_second_has_passed() -> None:
    wanted = Wanted({"latency": latency_of("fixed:200"), "places": 16})
    assert wanted.events(8, 10) > 8 / 0.2 * 10
    assert wanted.events(256, 10) == wanted.events(AUTO, 10) == wanted.events(16, 10)
    assert wanted.events(1, 0.1) > BATCH
    assert Wanted({"latency": latency_of("none")}).events(1, 1) == MOST_EVENTS
    assert Wanted({"latency": latency_of("none")}, rate=50).events(1, 10) == 500


def test_a_receiver_with_places_answers_in_turn() -> None:
    place, answer = Place("/hook", 0, Behaviour(places=2)), Answer(after_s=1.0)
    late = [place.in_turn(answer, 2, at).after_s for at in (0.0, 0.0, 0.0, 0.5, 2.25)]
    assert late == [1.0, 1.0, 2.0, 1.5, 1.0]
