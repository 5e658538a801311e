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
# Temporary files go to memory only if at least `MEMORY_BYTES` are free. The temporary files of a run need
# less, but other programs need memory too.
MEMORY_BYTES = 4 << 30


def pytest_configure(config: pytest.Config) -> None:
    """Choose a folder for the run's PostgreSQL server and share it with all workers."""
    make_once()
    # These are hypothesis's own settings for CI: results depend neither on the computer's speed nor on
    # chance. Results depend on which modules of Angarium are imported: hypothesis also tries constants of
    # these modules, and has no setting to prevent this. Therefore a test can fail in some runs only.
    # With `print_blob`, the report has the line `@reproduce_failure(...)`. With this line above the
    # test, the test fails in any run with the same version of hypothesis.
    slow = [hypothesis.HealthCheck.too_slow]
    hypothesis.settings.register_profile(
        "patient", deadline=None, derandomize=True, database=None, print_blob=True,
        suppress_health_check=slow,
    )  # fmt: skip
    hypothesis.settings.load_profile("patient")
    # A shell without job control starts background programs in such a way that they ignore SIGINT
    # (Ctrl-C). The programs that the tests start would then ignore SIGINT too.
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    passed = getattr(config, "workerinput", None)
    if passed is None:
        _prefer_memory()
        folder = Path(tempfile.gettempdir()) / f"angarium-test-{secrets.token_hex(6)}"
        runner = os.getpid()
    else:
        folder, runner = Path(passed["postgres_folder"]), passed["postgres_runner"]
    config.stash[_SERVER] = TestServer(folder, runner)


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Keep the garbage collector off while modules are imported, because their objects all stay alive."""
    gc.disable()
    found = yield
    gc.freeze()
    gc.enable()
    return found


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """If `-m` selects or excludes the proofs (the long tests), do not collect the files whose tests will
    not run. Each worker would otherwise import these files.
    """
    lane = lane_of(str(config.getoption("markexpr")))
    if lane is None or collection_path.suffix != ".py":
        return None
    return is_proof(collection_path.relative_to(config.rootpath).as_posix()) != lane or None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if is_proof(item.nodeid):
            item.add_marker(MARK)


def _prefer_memory() -> None:
    """Put the temporary files of this process and its children in memory, if enough is free.

    A test's database consists of some 300 files that are created and removed. Before ext4 reuses an
    inode, it checks all recently freed inodes. On a disk, these checks took more than half of a run's CPU
    time.
    """
    if "TMPDIR" in os.environ or not MEMORY.is_dir():
        return
    if os.access(MEMORY, os.W_OK) and shutil.disk_usage(MEMORY).free >= MEMORY_BYTES:
        os.environ["TMPDIR"] = str(MEMORY)
        tempfile.tempdir = None  # `tempfile` computes it again


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: "object") -> "object | None":
    return scheduler_of(config, log) if config.getoption("dist") == WHOLE_FILES else None


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: "object") -> None:
    server = node.config.stash[_SERVER]  # type: ignore[attr-defined]  # an xdist class, untyped
    node.workerinput["postgres_folder"] = str(server.folder)  # type: ignore[attr-defined]
    node.workerinput["postgres_runner"] = server.runner  # type: ignore[attr-defined]


def pytest_unconfigure(config: pytest.Config) -> None:
    """Close this process's connection to the run's PostgreSQL server. pytest's main process also stops
    the server. The worker processes of pytest-xdist leave it running.
    """
    if _SERVER in config.stash:
        config.stash[_SERVER].leave()
        if not hasattr(config, "workerinput"):
            config.stash[_SERVER].stop()


@pytest.fixture(autouse=True)
def logs_as_before() -> Iterator[None]:
    """Undo changes to the logging configuration that a test or a command in this process makes."""
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
    """The run's PostgreSQL server, which starts when a test first needs a database."""
    return request.config.stash[_SERVER]


@pytest.fixture
async def database_url(postgres: TestServer) -> AsyncIterator[str]:
    """Create a database with all migrations and this week's partitions, and drop it afterwards."""
    async with postgres.database() as url:
        yield url


@pytest.fixture
async def bridge(database_url: str) -> AsyncIterator[Bridge]:
    async with open_bridge(database_url) as bridge:
        yield bridge


@pytest.fixture
def data_dir() -> Iterator[Path]:
    """Return a data folder that does not exist yet. Stop any embedded server that the test leaves in it.

    It is not below `tmp_path`: pytest closes that folder to other accounts, and PostgreSQL runs as
    another account if root starts it.
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
    """Prevent the rate limits' window from ending during the test."""
    monkeypatch.setattr("api.admission.WINDOW_S", 9_000_000_000)


@pytest.fixture
def uncollected() -> Iterator[None]:
    gc.collect()
    gc.disable()
    yield
    gc.enable()
