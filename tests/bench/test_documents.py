"""The bench's documents. The page of their schema is current, a file is read as it was written, and
figures are compared with their bars (limits)."""

from pathlib import Path

import pytest

from bench.bars import bars_of
from bench.baseline import baseline
from bench.machine import machine, source
from bench.results import read, write
from bench.schema_page import PAGE, text
from bench.units import depends_on_machine, in_floors
from tests.bench.documents import document, run


def test_the_page_of_the_document_is_current() -> None:
    assert PAGE.read_text("utf-8") == text(), "make it again: python -m bench.schema_page"


def test_a_document_comes_back_as_it_was_written(tmp_path: Path) -> None:
    written = document(run([1.0, 2.0]), run([3.0], scenario="batch"))
    write(tmp_path / "below" / "results.json", written)
    assert read(tmp_path / "below" / "results.json") == written


def test_the_machine_and_the_source_are_told() -> None:
    found = machine()
    assert found.cores >= 1
    assert found.postgres.startswith("18")
    assert source().version
    assert len(source().commit) in (0, 40)


@pytest.mark.parametrize(
    ("bar", "held", "stretched"),
    [
        ({"atMost": 14, "stretch": 9}, True, False),
        ({"atMost": 14, "stretch": 10}, True, True),
        ({"atMost": 9}, False, False),
        ({"atLeast": 10, "stretch": 12}, True, False),
        ({"atLeast": 11}, False, False),
    ],
)
def test_a_bar_is_held_by_the_median(bar: dict[str, float], held: bool, stretched: bool) -> None:
    judged = run([9.0, 10.0, 30.0])
    judged.bars = {"timesFloor": bar}
    (found,) = bars_of(judged)
    assert (found.median, found.held, found.stretched) == (10.0, held, stretched)


def test_a_bar_is_not_held_by_what_was_not_measured() -> None:
    judged = run([9.0], verdict="void")
    judged.bars = {"timesFloor": {"atMost": 14}}
    assert not bars_of(judged)[0].held
    judged.bars = {"timesFloor": {"atMost": 14, "atLeast": 1}}
    with pytest.raises(ValueError, match="atMost or atLeast"):
        bars_of(judged)


@pytest.mark.parametrize(
    ("figure", "value", "floors"),
    [
        ("cpuMicrosPerEvent", 100.0, 20.0),
        ("p99Ms", 2.0, 400.0),
        ("firstDeliveryS", 0.5, 100_000.0),
        ("deliveredPerSecond", 10_000.0, 0.05),
        ("timesFloor", 17.0, 17.0),
        ("rssGrowthMb", 9.0, 9.0),
        ("lost", 0.0, 0.0),
    ],
)
def test_a_figure_says_what_it_is_counted_in(figure: str, value: float, floors: float) -> None:
    assert in_floors(figure, value, 5.0) == pytest.approx(floors)
    assert depends_on_machine(figure) is (value != floors)


def test_other_systems_stand_beside_ours_by_scenario() -> None:
    beside = baseline().beside("single")
    assert beside["Svix"]["timesFloor"] == pytest.approx(308, abs=1)
    assert beside["Outpost"]["timesFloor"] == pytest.approx(156, abs=1)
    assert baseline().beside("paced")["Outpost"]["p99Ms"] == 56.9
    assert baseline().beside("no such scenario") == {}
