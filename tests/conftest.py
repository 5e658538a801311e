"""Fixtures for all tests: a fresh PostgreSQL database for each test that needs SQL."""

import gc
import logging
import os
import secrets
import shutil
import signal
import tempfile
from collections.abc import AsyncIterator, Generator, Iterator
from pathlib import Path

import hypothesis
import pytest
import structlog

from storage.database.bridge import Bridge, open_bridge
from storage.embedded.postmaster import read_postmaster
from tests.distribution import WHOLE_FILES, scheduler_of
from tests.made_once import make_once
from tests.postgres import TestServer
from tests.proofs import MARK, is_proof, lane_of

_SERVER = pytest.StashKey[TestServer]()
MEMORY = Path("/dev/shm")
MEMORY_BYTES = 4 << 30  # to be free: more than a run takes, since other programs need some, too


def pytest_configure(config: pytest.Config) -> None:
    """Agree with all workers on where the run's PostgreSQL server would be."""
    make_once()
    # As on CI: a test's result must depend neither on the machine's speed nor on chance.
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "patient", deadline=None, derandomize=True, database=None, suppress_health_check=slow
    )
    hypothesis.settings.load_profile("patient")
    # A shell without job control starts background programs that ignore Ctrl-C. Every program that a
    # test starts and interrupts would ignore it, too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    passed = getattr(config, "workerinput", None)
    if passed is None:
        _prefer_memory()
        # Only the name is chosen here: a run that needs no database leaves nothing behind, however it
        # ends.
        folder = Path(tempfile.gettempdir()) / f"angarium-test-{secrets.token_hex(6)}"
        runner = os.getpid()
    else:
        folder, runner = Path(passed["postgres_folder"]), passed["postgres_runner"]
    config.stash[_SERVER] = TestServer(folder, runner)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Do not collect garbage among objects that imports make: all of them stay."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Leave out the files of the lane that does not run: each worker imports what it collects."""
    lane = lane_of(str(config.getoption("markexpr")))
    if lane is None or collection_path.suffix != ".py":
        return None
    return is_proof(collection_path.relative_to(config.rootpath).as_posix()) != lane or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of the long proofs."""
    for item in items:
        if is_proof(item.nodeid):
            item.add_marker(MARK)


def _prefer_memory() -> None:
    """Put temporary files in memory, if there is enough, for this process and its children.

    Each test's database is some 300 files, made and removed again. Before ext4 takes an inode, it looks
    at every inode freed in the last seconds, which took more than half of all CPU.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # `tempfile` computes it anew


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "object") -> "object | None":
    """Give files to workers as `tests.distribution` says, where files are to be given."""
    return scheduler_of(config, log) if config.getoption("dist") == WHOLE_FILES else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "object") -> None:
    """Tell a worker of pytest-xdist."""
    server = node.config.stash[_SERVER]  # type: ignore[attr-defined]  # an xdist class, untyped
    node.workerinput["postgres_folder"] = str(server.folder)  # type: ignore[attr-defined]
    node.workerinput["postgres_runner"] = server.runner  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Stop the server at the very end, in the process that pytest was started as."""
    if _SERVER in config.stash:
        config.stash[_SERVER].leave()
        if not hasattr(config, "workerinput"):
            config.stash[_SERVER].stop()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Undo the changes to logging that a test, or a command within this process, has made."""
    root = logging.getLogger()
    handlers, level, raising = root.handlers[:], root.level, logging.raiseExceptions
    configured = structlog.get_config()
    yield
    structlog.configure(**configured)
    root.handlers[:], logging.raiseExceptions = handlers, raising
    root.setLevel(level)
    logging.captureWarnings(False)


@pytest.fixture(scope="session")
def postgres(request: pytest.FixtureRequest) -> TestServer:
    """The run's PostgreSQL server; it starts when a test first asks for a database."""
    return request.config.stash[_SERVER]


@pytest.fixture
async def database_url(postgres: TestServer) -> AsyncIterator[str]:
    """A fresh database with all migrations and this week's partitions; dropped afterwards."""
    async with postgres.database() as url:
        yield url


@pytest.fixture
async def bridge(database_url: str) -> AsyncIterator[Bridge]:
    """A bridge to a fresh database."""
    async with open_bridge(database_url) as bridge:
        yield bridge


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """A data folder that does not exist yet. An embedded server left in it is ended.

    It is not below `tmp_path`: pytest closes that to other accounts at each run, and PostgreSQL, if
    started by root, runs as another account.
    """
    folder = Path(tempfile.mkdtemp(prefix="angarium-data-"))
    folder.chmod(0o755)
    yield folder / "data"
    for cluster in folder.glob("**/PG_VERSION"):
        left = read_postmaster(cluster.parent)
        if left is not None and left.alive:
            left.stop(fast_s=0.0)
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def one_window(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no window of the rate limits end within the test."""
    monkeypatch.setattr("api.admission.WINDOW_S", 9_000_000_000)


@pytest.fixture
def uncollected() -> Iterator[None]:
    """Switch the garbage collector off."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()
