"""The program that sends a server the worst known inputs."""

import pytest

from bench.hostile import NEIGHBOUR_MS, Cost, Step, broken_bars, main
from bench.inputs import ROWS, SCHEMAS


def test_a_row_is_sent_to_a_real_server(capsys: pytest.CaptureFixture[str]) -> None:
    main(["C1"])  # its exit code depends on times
    (line,) = capsys.readouterr().out.splitlines()
    assert line.startswith("C1 (")
    assert "Bar: < 100 ms or refused: " in line
    answers = line.partition("previews: ")[2]
    for name in SCHEMAS:
        # Each schema is posted. If the server accepts the schema, an event that is costly to check
        # against the schema is posted. The server must refuse the schema or the event.
        assert f"{name} 400 in " in answers or f"{name} refused with 400" in answers


def test_each_cost_above_its_bar_is_named() -> None:
    assert broken_bars(Cost(1, None, 100, NEIGHBOUR_MS), 100) == []
    # Other programs used the processor.
    assert broken_bars(Cost(1, Step(60, 5, "x"), 100, NEIGHBOUR_MS), 100) == []
    assert broken_bars(Cost(1, Step(60, 45, "x"), 101, NEIGHBOUR_MS + 1), 100) == [
        "neighbour's p99 501 ms",
        "a step of 45 ms of CPU",
        "101 MiB more",
    ]


def test_a_name_that_no_row_has_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["C9"]) == 2
    known = ", ".join(each.name for each in ROWS)
    assert capsys.readouterr().err == f"unknown rows: C9; the rows are {known}\n"
