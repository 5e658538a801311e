"""The figures of releases: which can be kept, and their trend."""

from pathlib import Path

import msgspec
import pytest

from bench.history import FILE, LEAST, add, entries_of, kept, main, trend
from bench.results import Floor, Run, write
from tests.bench.documents import FLOOR, SOURCE, document, run

VALUES = [10.0, 11.0, 12.0]


def released(
    version: str, values: list[float], figure: str = "timesFloor", floor: Floor = FLOOR
) -> Run:
    source = msgspec.structs.replace(SOURCE, version=version)
    return run(values, source=source, figure=figure, floor=floor)


def test_a_release_keeps_the_median_and_the_spread_of_its_figures(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    add(entries_of(document(run(VALUES)), "0.1.0"), path)
    (entry,) = kept(path)
    assert (entry.release, entry.scenario, entry.measurements) == ("0.1.0", "single", 3)
    assert msgspec.structs.astuple(entry.figures["timesFloor"]) == (11.0, 10.0, 12.0)
    assert entry.floor == FLOOR


@pytest.mark.parametrize(
    ("bad", "said"),
    [
        ([], "no runs"),
        ([run(VALUES), run(VALUES)], "2 times"),
        ([run(VALUES, verdict="void")], "is void: why"),
        ([run(VALUES[:2])], f"--repeat {LEAST}"),
        ([run(VALUES, source=msgspec.structs.replace(SOURCE, changed=True))], "differs from its commit"),
        ([released("0.2.0", VALUES)], "was measured with 0.2.0"),
    ],
)  # fmt: skip
def test_what_nobody_could_measure_again_is_not_kept(bad: list[Run], said: str) -> None:
    with pytest.raises(ValueError, match=said):
        entries_of(document(*bad), "0.1.0")


def test_a_tiny_run_is_not_kept() -> None:
    tiny = run([1.0] * LEAST)
    tiny.tiny = True
    with pytest.raises(ValueError, match="--tiny"):
        entries_of(document(tiny), SOURCE.version)


def test_what_is_kept_is_replaced_only_when_that_is_meant(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    add(entries_of(document(run(VALUES), run(VALUES, scenario="batch")), "0.1.0"), path)
    again = entries_of(document(run([20.0] * 3)), "0.1.0")
    with pytest.raises(ValueError, match="already exists"):
        add(again, path)
    add(again, path, replace=True)
    found = {entry.scenario: entry.figures["timesFloor"].median for entry in kept(path)}
    assert found == {"batch": 11.0, "single": 20.0}


def test_a_trend_is_in_floors_and_in_the_order_of_releases(tmp_path: Path) -> None:
    path = tmp_path / "history.jsonl"
    half = Floor(FLOOR.send_micros / 2, FLOOR.insert_micros, FLOOR.syscall_micros)
    for version, floor, micros in (("0.10.0", half, 55.0), ("0.9.0", FLOOR, 110.0)):
        figures = released(version, [micros] * 3, "cpuMicrosPerEvent", floor)
        add(entries_of(document(figures), version), path)
    ((scenario, figure, values),) = trend(kept(path))
    assert (scenario, figure) == ("single", "cpuMicrosPerEvent")
    # The trend has the CPU time of an event, divided by the CPU time of a bare request (`send_micros`).
    # 0.10.0 was measured on a computer twice as fast as that of 0.9.0. There, both CPU times are half as
    # long, so the quotient is 20 for both releases.
    assert [release for release, _ in values] == ["0.9.0", "0.10.0"]
    assert [value for _, value in values] == pytest.approx([20, 20])


def test_the_command_keeps_shows_and_refuses(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    results, history = tmp_path / "results.json", ["--history", str(tmp_path / "history.jsonl")]
    write(results, document(run(VALUES)))
    assert main(["show", *history]) == 0
    assert "nothing is kept" in capsys.readouterr().out
    assert main(["add", str(results), "--release", "0.1.0", *history]) == 0
    assert main(["show", *history]) == 0
    assert "timesFloor" in capsys.readouterr().out
    with pytest.raises(SystemExit):
        main(["add", str(results), "--release", "0.1.0", *history])
    assert "already exists" in capsys.readouterr().err
    (tmp_path / "history.jsonl").write_text("{}\n")
    with pytest.raises(SystemExit):
        main(["show", *history])
    assert "history.jsonl:1 is not an entry" in capsys.readouterr().err


def test_the_history_of_this_repository_is_whole() -> None:
    kept(FILE)
