"""The distribution of the suite among pytest-xdist's workers: whole files, the longest first.

One worker then makes the server of a file, and what its folder shares. A run ends with short files, so
that no worker is left alone with a long one.
"""

from typing import Any

import pytest

WHOLE_FILES = "loadfile"  # the value of `--dist` that asks for it
# These share one server full of data, which takes as long as most of their tests.
TOGETHER = ("tests/browser/",)
# Files that take ten seconds of CPU, or wait as long for the programs they start.
LONG = (
    "tests/process/test_standby.py",
    "tests/browser/",
    "tests/process/test_stops.py",
    "tests/cli/test_commands.py",
    "tests/service/test_master_key.py",
    "tests/process/",
    "tests/service/",
    "tests/storage/test_replay_crashes.py",
    "tests/storage/test_embedded.py",
    "tests/backup/",
    "tests/clients/",
    "tests/actors/test_interleavings.py",
)


def unit_of(nodeid: str) -> str:
    """Return what goes to a worker as a whole: a file, or the folder whose files share a server."""
    together = (folder for folder in TOGETHER if nodeid.startswith(folder))
    return next(together, nodeid.partition("::")[0])


def place_of(unit: str) -> int:
    """Return the place of a unit in the order of a run. Files that are not listed come last."""
    places = (place for place, prefix in enumerate(LONG) if unit.startswith(prefix))
    return next(places, len(LONG))


def scheduler_of(config: pytest.Config, log: Any) -> Any:
    """Return pytest-xdist's scheduler of whole files, with the units and the order of this module."""
    from xdist.scheduler import LoadFileScheduling  # here: a run in one process needs no xdist

    class Units(LoadFileScheduling):  # type: ignore[misc]  # xdist has no types
        def _split_scope(self, nodeid: str) -> str:
            return unit_of(nodeid)

        def _assign_work_unit(self, node: Any) -> None:
            self.workqueue.move_to_end(min(self.workqueue, key=place_of), last=False)
            super()._assign_work_unit(node)

    return Units(config, log)
