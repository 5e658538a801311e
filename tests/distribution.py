"""The distribution of tests to pytest-xdist's workers: whole files, longest first.

One worker runs a whole file, because the file's tests share servers. Short files run last, so that the
workers finish at about the same time. Files of proofs (long tests) whose tests share nothing are
distributed test by test.
"""

from typing import Any

import pytest

from tests.proofs import is_proof

WHOLE_FILES = "loadfile"
# Folders whose files are all run by one worker, because these files share servers. To start the servers
# again in another worker would take about as long as the tests.
TOGETHER = ("tests/browser/", "tests/process/", "tests/backup/")
# Files whose tests take ten seconds of CPU time, or wait ten seconds for programs that they start.
LONG = (
    "tests/browser/",
    "tests/process/",
    "tests/service/",
    "tests/storage/test_replay_crashes.py",
    "tests/storage/test_embedded.py",
    "tests/backup/",
    "tests/clients/",
    "tests/actors/test_interleavings.py",
)
# Proofs whose tests share no expensive fixtures.
APART = (
    "tests/bench/test_scenarios.py",
    "tests/chaos/",
    "tests/core/",
    "tests/engine/",
    "tests/fuzz/",
    "tests/generated/",
    "tests/packages/test_receivers.py",
    "tests/sim/",
    "tests/transforms/",
)
# The slowest proofs (long tests), longest first: proofs that take a minute or more, then proofs of twenty
# seconds, then proofs of ten seconds.
LONG_PROOFS = (
    "tests/packages/test_installers.py",
    "tests/transforms/test_hostile.py::test_a_thousand",
    "tests/service/test_schemathesis.py",
    "tests/process/test_kills_second.py",
    "tests/service/test_live_steps.py",
    "tests/cli/",
    "tests/packages/test_installed.py",
    "tests/process/test_stops.py",
    "tests/service/test_matrix.py",
    "tests/bench/test_scenarios.py::test_what_files_declare_runs_and_finds_nothing_broken",
    "tests/chaos/",
    "tests/process/test_standby.py",
    "tests/browser/test_figures.py",
    "tests/process/",
    "tests/upgrade/",
    "tests/generated/",
    "tests/service/",
    "tests/browser/",
    "tests/storage/",
    "tests/bench/",
    "tests/neighbours/",
    "tests/packages/",
    "tests/fuzz/",
    "tests/engine/",
    "tests/transforms/",
    "tests/sim/test_seeds.py",
)


def unit_of(nodeid: str) -> str:
    file = nodeid.partition("::")[0]
    if is_proof(nodeid):
        return nodeid if nodeid.startswith(APART) else file
    return next((folder for folder in TOGETHER if nodeid.startswith(folder)), file)


def place_of(unit: str) -> int:
    order = LONG_PROOFS if is_proof(unit) else LONG
    return next((at for at, prefix in enumerate(order) if unit.startswith(prefix)), len(order))


def scheduler_of(config: pytest.Config, log: Any) -> Any:
    from xdist.scheduler import LoadFileScheduling  # a run in one process does not need xdist

    class Units(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(min(self.workqueue, key=place_of), last=False)
            super()._assign_work_unit(node)

    return Units(config, log)
