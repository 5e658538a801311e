"""The comparison of two files of results: verdicts, omissions, and the command's output."""

from pathlib import Path

import msgspec
import pytest

from bench.compare import compare, main
from bench.results import Document, Floor, Run, write
from tests.bench.documents import FLOOR, MACHINE, document, run

BEFORE = [10.0, 10.1, 9.9, 10.05, 9.95]


def verdict(first: Run, second: Run) -> str:
    (row,) = compare(document(first), document(second)).rows
    return row.verdict


def scaled(by: float) -> list[float]:
    return [value * by for value in BEFORE]


@pytest.mark.parametrize(
    ("after", "expected"),
    [
        (scaled(1.0), "same"),
        (scaled(1.03), "same"),  # measurably different, but unimportant
        (scaled(1.055), "worse"),
        (scaled(1.2), "worse"),
        (scaled(0.8), "better"),
        ([8.0, 14.0, 9.0, 13.0, 10.0], "unclear"),  # the values spread too widely
    ],
)
def test_a_figure_has_a_verdict(after: list[float], expected: str) -> None:
    assert verdict(run(BEFORE), run(after)) == expected


def test_more_is_better_where_the_scenario_says_so() -> None:
    first = run(BEFORE, figure="goodput", better="more")
    assert verdict(first, run(scaled(1.2), figure="goodput", better="more")) == "better"
    assert verdict(first, run(scaled(0.8), figure="goodput", better="more")) == "worse"


def test_one_measurement_of_each_is_no_ground_for_a_verdict() -> None:
    found = compare(document(run([10.0])), document(run([20.0])))
    assert [row.verdict for row in found.rows] == ["unclear"]
    assert "--repeat" in found.rows[0].reason
    assert not found.worse


def test_zeros_are_the_same_and_what_comes_from_zero_is_unclear() -> None:
    assert verdict(run([0.0, 0.0]), run([0.0, 0.0, 0.0])) == "same"
    assert verdict(run([0.0, 0.0]), run([1.0, 1.0])) == "unclear"


def test_a_fluke_among_many_figures_is_no_finding() -> None:
    # Alone it would be significant: p is 0.02.
    fluke = run([10.0, 10.4, 9.6]), run([11.3, 10.9, 11.7])
    assert verdict(*fluke) == "worse"
    others = [run(BEFORE, scenario=f"other{number}") for number in range(20)]
    noisy = [run([8.0, 14.0, 9.0, 13.0, 10.0], scenario=each.scenario) for each in others]
    found = compare(document(fluke[0], *others), document(fluke[1], *noisy))
    assert "by chance" in next(row for row in found.rows if row.scenario == "single").reason
    assert not found.worse


def test_who_asks_for_one_figure_leaves_the_others_out() -> None:
    first, second = run(BEFORE), run(scaled(1.2))
    for each in (first, second):
        each.better["p99Ms"] = "less"
        for number, one in enumerate(each.measurements):
            one.figures["p99Ms"] = 2.0 + number
    (row,) = compare(document(first), document(second), only=["timesFloor"]).rows
    assert (row.figure, row.verdict) == ("timesFloor", "worse")
    assert compare(document(first), document(second), only=["p99Ms"]).worse is False


def test_a_run_that_breaks_a_promise_is_worse_whatever_it_gained() -> None:
    found = compare(document(run(BEFORE)), document(run(scaled(0.5), verdict="broken")))
    assert found.broken == ["single"]
    assert found.worse
    assert found.rows == []
    assert any("left out: why" in each for each in found.warnings)


def test_void_measurements_are_left_out_and_told() -> None:
    void = run(scaled(3), verdict="void")
    second = run(BEFORE)
    second.measurements += void.measurements
    found = compare(document(run(BEFORE)), document(second))
    assert [row.verdict for row in found.rows] == ["same"]
    assert any("5 of 10 in the second are void" in each for each in found.warnings)


def test_a_drifted_floor_is_told() -> None:
    second = run(BEFORE)
    second.measurements[0].drifted = True
    found = compare(document(run(BEFORE)), document(second))
    assert any("drifted in 1 of 5" in each for each in found.warnings)


def test_what_was_profiled_is_told() -> None:
    second = run(BEFORE)
    second.measurements[0].split = {"send": 20.0}
    assert any(
        "profiled" in each for each in compare(document(run(BEFORE)), document(second)).warnings
    )


@pytest.mark.parametrize(
    "elsewhere",
    [
        {"machine": msgspec.structs.replace(MACHINE, cores=64)},
        {"floor": Floor(FLOOR.send_micros * 1.3, FLOOR.insert_micros, FLOOR.syscall_micros)},
    ],
)
def test_on_another_machine_ratios_compare_and_times_do_not(elsewhere: dict[str, object]) -> None:
    for figure, expected in (("timesFloor", "worse"), ("p99Ms", "unclear")):
        first = run(BEFORE, figure=figure)
        second = run(scaled(1.3), figure=figure, **elsewhere)  # type: ignore[arg-type]
        found = compare(document(first), document(second))
        assert [row.verdict for row in found.rows] == [expected]
        assert any(each.startswith("different ") for each in found.warnings)


def test_another_interpreter_is_what_one_may_want_to_compare() -> None:
    first = run(BEFORE, figure="p99Ms")
    machine = msgspec.structs.replace(MACHINE, python="CPython 3.13")
    assert verdict(first, run(scaled(1.3), figure="p99Ms", machine=machine)) == "worse"


def test_of_a_tiny_run_nothing_is_compared() -> None:
    tiny = run([10, 11])
    tiny.tiny = True
    found = compare(document(run([10, 11])), document(tiny))
    assert not found.rows
    assert any("second was run with --tiny" in each for each in found.warnings)


def test_other_sizes_are_another_work() -> None:
    found = compare(document(run(BEFORE)), document(run(BEFORE, events=200)))
    assert found.rows == []
    assert any('"events": 100' in each and '"events": 200' in each for each in found.warnings)


def test_runs_of_one_scenario_in_one_file_are_one() -> None:
    halves = document(run(BEFORE[:1]), run(BEFORE[1:]))
    (row,) = compare(halves, document(run(scaled(1.2)))).rows
    assert row.verdict == "worse"


@pytest.mark.parametrize(
    ("second", "code", "said"),
    [
        (document(run(scaled(1.2))), 1, "worse"),
        (document(run(BEFORE)), 0, "same"),
        (document(run(BEFORE, scenario="batch")), 2, "nothing to compare"),
    ],
)
def test_the_command_says_it_and_ends_accordingly(
    second: Document, code: int, said: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(tmp_path / name) for name in ("first.json", "second.json")]
    write(Path(paths[0]), document(run(BEFORE)))
    write(Path(paths[1]), second)
    assert main(paths) == code
    told = capsys.readouterr()
    assert said in told.out + told.err


def test_the_command_refuses_what_is_no_file_of_results(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "results.json"
    for content, said in (
        (b"{}", "not a file of results"),
        (b"\xff", "not a file of results"),
        (b'{"runs": [], "format": "other/9"}', "has format 'other/9'"),
    ):
        path.write_bytes(content)
        with pytest.raises(SystemExit):
            main([str(path), str(path)])
        assert said in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main([str(tmp_path / "none.json"), str(path)])
    assert "cannot be read" in capsys.readouterr().err
