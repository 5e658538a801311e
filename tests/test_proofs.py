"""The division of the suite into long tests (proofs) and other tests, and the order in which the
processes of a test run take test files."""

from pathlib import Path

import pytest

from tests.distribution import APART, LONG, LONG_PROOFS, TOGETHER, place_of, unit_of
from tests.proofs import MARK, PROOFS, lane_of

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", PROOFS)
def test_a_long_proof_exists(path: str) -> None:
    assert (ROOT / path).is_file()


def test_the_verification_runs_the_tests_and_the_long_proofs() -> None:
    makefile, verification = (ROOT / "Makefile").read_text(), (ROOT / ".ci/run").read_text()
    for target, chosen in (("test", f"not {MARK}"), ("prove", MARK)):
        assert f'pytest -m "{chosen}" $(PYTEST_ARGS)' in makefile.partition(f"\n{target}: ")[2]
        assert f"make --no-print-directory {target} " in verification


@pytest.mark.parametrize("place", [*TOGETHER, *LONG, *APART, *LONG_PROOFS])
def test_a_place_of_the_distribution_exists(place: str) -> None:
    file, _, test = place.partition("::")
    assert (ROOT / file).exists()
    assert not test or f"def {test}" in (ROOT / file).read_text()


def test_files_stay_whole_and_the_longest_come_first() -> None:
    assert unit_of("tests/service/test_cors.py::test_x[a::b]") == "tests/service/test_cors.py"
    assert unit_of("tests/browser/test_files.py::test_x") == "tests/browser/"
    units = ["tests/core/test_rate.py", "tests/service/test_cors.py", LONG[1], LONG[0]]
    assert sorted(units, key=place_of) == units[::-1]


def test_proofs_that_share_nothing_are_spread_test_by_test() -> None:
    assert (
        unit_of("tests/sim/test_mutants.py::test_x[a bug]")
        == "tests/sim/test_mutants.py::test_x[a bug]"
    )
    assert unit_of("tests/process/test_kills.py::test_x") == "tests/process/test_kills.py"
    units = [
        "tests/sim/test_mutants.py::test_x",
        "tests/chaos/test_chaos.py::test_x",
        LONG_PROOFS[0],
    ]
    assert sorted(units, key=place_of) == units[::-1]


@pytest.mark.parametrize(("chosen", "lane"), [(MARK, True), (f"not {MARK}", False), ("", None)])
def test_a_lane_is_known_by_the_choice_of_its_mark(chosen: str, lane: bool | None) -> None:
    assert lane_of(chosen) is lane
