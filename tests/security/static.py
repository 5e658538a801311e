"""bandit over the shipped code and the benchmarks: `python -m tests.security.static`.

Every finding must be among the exceptions, and every exception must be needed.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

from tests.security.exceptions import FILE, Excused, read

ROOT = Path(__file__).parents[2]
LOOKED_AT = ("api", "engine", "storage", "bench", "clients/python")


def findings(root: Path = ROOT, folders: Sequence[str] = LOOKED_AT) -> list[tuple[str, str, int]]:
    """Return the test id, file and line of each of bandit's findings.

    Raises RuntimeError if bandit fails.
    """
    command = [sys.executable, "-m", "bandit", "--quiet", "--recursive", "--format", "json"]
    done = subprocess.run(
        [*command, *folders], cwd=root, capture_output=True, text=True, check=False
    )
    if done.returncode not in (0, 1):  # 1 means that it has findings
        raise RuntimeError(done.stderr)
    said = json.loads(done.stdout)
    if said["errors"]:
        raise RuntimeError(f"bandit could not read: {said['errors']}")
    return [
        (found["test_id"], found["filename"].removeprefix("./"), found["line_number"])
        for found in said["results"]
    ]


def judge(found: Sequence[tuple[str, str, int]], excused: Sequence[Excused]) -> list[str]:
    wrong = [
        f"{file}:{line}: bandit {test}"
        for test, file, line in found
        if not any(each.covers(test, file) for each in excused)
    ]
    wrong += [
        f"the exception {each.test} is needed by nothing in {pattern}"
        for each in excused
        for pattern in each.files
        if not any(Excused(each.test, (pattern,), "").covers(test, file) for test, file, _ in found)
    ]
    return wrong


def main() -> int:
    found = findings()
    wrong = judge(found, read().bandit)
    for line in wrong:
        print(line)
    if not wrong:
        reasons = FILE.relative_to(ROOT)
        print(f"bandit: {len(found)} findings, each with its reason in {reasons}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
