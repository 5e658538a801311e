"""Rounds of chaos. Each round has every disturbance of its books once, if the disturbance is possible. No
event is lost, invented, reordered or sent without need."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.chaos.book import BOOKS, books
from tests.chaos.plan import drawn, everything
from tests.chaos.round import Round
from tests.chaos.world import make_template

SEED = 6
NODES = 3
WORKERS = 3
LEAST = 100  # accepted events: fewer would prove little


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder that PostgreSQL's account can enter. Its name is short, because the path of a Unix socket
    must be short.
    """
    folder = Path(tempfile.mkdtemp(prefix="angarium-chaos-"))
    folder.chmod(0o755)
    yield folder
    if not (folder / "round").exists():  # a failed round leaves its files
        shutil.rmtree(folder)


def test_every_promise_holds_whatever_is_disturbed(folder: Path) -> None:
    outcome = Round(everything(SEED), folder / "round", make_template(folder / "template")).play()
    assert not outcome.verdict.violations, f"seed {SEED}, see {folder}"
    assert outcome.verdict.accepted > LEAST
    kinds = {kind.__name__ for book in BOOKS for kind in book}
    assert outcome.disturbances.keys() == kinds - outcome.impossible


def test_every_promise_holds_with_three_servers(folder: Path) -> None:
    plan = everything(SEED, NODES)
    outcome = Round(plan, folder / "round", make_template(folder / "template")).play()
    assert not outcome.verdict.violations, f"seed {SEED}, see {folder}"
    assert outcome.verdict.accepted > LEAST
    kinds = {kind.__name__ for book in books(NODES) for kind in book}
    assert outcome.disturbances.keys() == kinds - outcome.impossible


def test_every_promise_holds_with_three_workers(folder: Path) -> None:
    plan = everything(SEED, workers=WORKERS)
    outcome = Round(plan, folder / "round", make_template(folder / "template")).play()
    assert not outcome.verdict.violations, f"seed {SEED}, see {folder}"
    assert outcome.verdict.accepted > LEAST
    kinds = {kind.__name__ for book in books(1, WORKERS) for kind in book}
    assert outcome.disturbances.keys() == kinds - outcome.impossible


def test_a_seed_is_a_plan() -> None:
    assert drawn(5, 25.0) == drawn(5, 25.0)
    assert drawn(5, 25.0) != drawn(6, 25.0)
    assert any(drawn(seed, 25.0).followed for seed in range(20))
