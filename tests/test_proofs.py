"""The two lanes of the suite, each test in one of them, and the order in which workers take files."""

from pathlib import Path

import pytest

from tests.distribution import LONG, TOGETHER, place_of, unit_of
from tests.proofs import MARK, PROOFS

ROOT = Path(__file__).parent.parent


@pytest.mark.parametrize("path", PROOFS)
def test_a_long_proof_exists(path: str) -> None:
    assert (ROOT / path).is_file()


def test_the_verification_runs_the_tests_and_the_long_proofs() -> None:
    makefile, verification = (ROOT / "Makefile").read_text(), (ROOT / ".ci/run").read_text()
    for target, chosen in (("test", f"not {MARK}"), ("prove", MARK)):
        assert f'pytest -m "{chosen}" $(PYTEST_ARGS)' in makefile.partition(f"\n{target}: ")[2]
        assert f"make --no-print-directory {target} " in verification


@pytest.mark.parametrize("place", [*TOGETHER, *LONG])
def test_a_place_of_the_distribution_exists(place: str) -> None:
    assert (ROOT / place).exists()


def test_files_stay_whole_and_the_longest_come_first() -> None:
    assert unit_of("tests/service/test_cors.py::test_x[a::b]") == "tests/service/test_cors.py"
    assert unit_of("tests/browser/test_files.py::test_x") == "tests/browser/"
    units = ["tests/core/test_rate.py", "tests/process/test_stops.py", "tests/browser/", LONG[0]]
    assert sorted(units, key=place_of) == [LONG[0], *units[2:0:-1], units[0]]
