"""The two lanes of the suite: each test is in one of them, and the whole verification runs both."""

from pathlib import Path

import pytest

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
