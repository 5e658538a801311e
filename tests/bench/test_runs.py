"""Runs of scenarios: the results of measurements, their files, and the commands' messages."""

import subprocess
import sys
from pathlib import Path

import pytest

from bench.__main__ import COMMANDS
from bench.__main__ import main as command
from bench.checks import Broken
from bench.results import Measurement, read
from bench.runs import Files, changes, curated, failures, measured, running
from bench.scenario import Scenario, Serve, Sizes
from bench.scenarios import SCENARIOS

CURATED_MINUTES = 10.0  # the acceptable duration of `make bench`


class Works:
    def __init__(self, *outcomes: float | Exception) -> None:
        self._outcomes = iter(outcomes)

    def __call__(self, sizes: Sizes, serve: Serve | None) -> Measurement:
        outcome = next(self._outcomes)
        if isinstance(outcome, Exception):
            raise outcome
        return Measurement({"timesFloor": outcome})


def scenario(*outcomes: float | Exception, at_most: float = 14) -> Scenario:
    return Scenario(
        "made",
        "made for a test",
        Works(*outcomes),
        better={"timesFloor": "less"},
        bars={"timesFloor": {"atMost": at_most}},
    )


def test_what_breaks_or_fails_is_a_measurement_and_the_next_one_comes() -> None:
    run = measured(scenario(10, Broken("1 lost"), OSError("no port"), 12), {"events": 3}, 4)
    assert [each.verdict for each in run.measurements] == ["ok", "broken", "failed", "ok"]
    assert [each.reason for each in run.measurements[1:3]] == ["1 lost", "OSError: no port"]
    assert (run.scenario, run.sizes, run.better) == ("made", {"events": 3}, {"timesFloor": "less"})
    assert failures([run], strict=False) == [
        "made is broken: 1 lost", "made is failed: OSError: no port"
    ]  # fmt: skip


def test_strict_minds_what_is_void_drifted_or_over_a_bar() -> None:
    run = measured(scenario(20), {})
    run.measurements.append(Measurement({}, "void", "the generator", drifted=True))
    assert failures([run], strict=False) == []
    assert failures([run], strict=True) == [
        "made is void: the generator",
        "made: the floor drifted",
        "made: timesFloor is 20, required is at most 14",
    ]


def test_a_tiny_run_is_held_to_no_bar_and_no_floor() -> None:
    tiny = measured(scenario(20), {}, tiny=True)
    tiny.measurements[0].drifted = True
    assert tiny.tiny
    assert failures([tiny], strict=True) == []


def test_results_are_written_after_each_scenario(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    json, html = tmp_path / "below" / "results.json", tmp_path / "page.html"
    there: list[int] = []

    def look(sizes: Sizes, serve: Serve | None) -> Measurement:
        there.append(len(read(json).runs) if json.exists() else 0)
        return Measurement({"timesFloor": 9.5})

    files = Files(json, html)
    running([(Scenario("made", "about", look), {}, 1)] * 2, files, profile=False)
    assert there == [0, 1]
    assert len(read(json).runs) == 2
    assert "9.5" in html.read_text("utf-8")
    assert "9.5" in capsys.readouterr().out
    files.tell()
    assert capsys.readouterr().out == f"{json}\n{html}\n"


def test_sizes_are_numbers_or_words() -> None:
    given = ["events=20", "zipf=1.1", "worst=names,lists", "url=a=b"]
    assert changes(given) == {"events": 20, "zipf": 1.1, "worst": "names,lists", "url": "a=b"}
    for bad in ("events", "=3"):
        with pytest.raises(ValueError, match="NAME=VALUE"):
            changes([bad])


def test_the_curated_set_is_of_scenarios_that_there_are_and_can_be_waited_for() -> None:
    chosen = curated()
    for each in chosen:
        assert SCENARIOS[each.scenario].with_sizes(each.sizes)
    assert len({each.scenario for each in chosen}) == len(chosen)
    assert sum(each.minutes for each in chosen) <= CURATED_MINUTES


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_its_help(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        command([name, "--help"])
    assert ended.value.code == 0
    assert f"bench {name}" in capsys.readouterr().out


def test_without_the_development_tools_a_command_says_what_installs_them() -> None:
    blocked = "import sys; sys.modules['trustme'] = None; from bench.__main__ import main; "
    done = subprocess.run(
        [sys.executable, "-c", blocked + "sys.exit(main(['floors']))"],
        cwd=Path(__file__).parents[2],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert "trustme is not installed" in done.stderr
    assert "make setup" in done.stderr


def test_a_module_of_ours_that_is_missing_is_no_matter_of_the_installation(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(COMMANDS, "floors", ("about", "bench.no_such_module"))
    with pytest.raises(ModuleNotFoundError, match="no_such_module"):
        command(["floors"])


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ([], "required: COMMAND"),
        (["walk"], "invalid choice: 'walk'"),
        (["run", "nothing"], "nothing"),
        (["run", "single", "--set", "evnets=3"], "no size evnets"),
        (["run", "single", "--set", "events"], "NAME=VALUE"),
        (["run", "single", "--repeat", "0"], "not a number of runs"),
        (["run", "all", "--set", "events=3"], "--set needs one scenario"),
    ],
)
def test_a_command_that_is_wrong_is_told_why(
    arguments: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        command(arguments)
    assert ended.value.code == 2
    assert said in capsys.readouterr().err


def test_scenarios_are_listed_with_all_sizes_on_a_narrow_terminal_too(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "60")
    assert command(["list"]) == 0
    told = capsys.readouterr().out
    assert all(name in told for name in SCENARIOS)
    assert "…" not in told
