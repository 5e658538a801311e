"""pip-audit over the pinned packages: `python -m tests.security.advisories`. The program fails if a
package has a known weakness.

If the advisory service cannot be reached, the result is unknown. The program reports this and does not
fail, because a user without a network could not fix it.
"""

import json
import os
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from tests.security.exceptions import Endured, read

ROOT = Path(__file__).parents[2]
LOCKS = (ROOT / "requirements" / "runtime.lock", ROOT / "requirements" / "dev.lock")
SERVICE = "https://api.osv.dev/v1/query"
VARIABLE = "ANGARIUM_ADVISORIES_URL"  # the URL of a mirror with the same interface
PROBE_S = 10.0
AUDIT_S = 300.0
# A version with many known weaknesses. A service that knows none of them is not the real advisory
# service: it would report no weakness of any package.
CANARY = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "2.4.1"}


class UnreachableError(Exception):
    """The advisory service cannot be reached. The message gives the reason."""


@dataclass(frozen=True)
class Weakness:
    package: str
    version: str
    ids: tuple[str, ...]  # its id and aliases
    mended_in: tuple[str, ...]


def probe(url: str) -> None:
    """Raise UnreachableError unless the advisory service answers and knows weaknesses of `CANARY`."""
    try:
        answer = httpx.post(url, json=CANARY, timeout=PROBE_S)
        known = answer.json().get("vulns") if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError) as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from None
    if not known:
        raise UnreachableError(f"what answers there (status {answer.status_code}) is not it")


def weaknesses(url: str, locks: Sequence[Path] = LOCKS) -> tuple[int, list[Weakness]]:
    """Return the number of pinned packages, and their known weaknesses.

    Raises UnreachableError. Raises RuntimeError if pip-audit fails although the advisory service answers.
    """
    probe(url)
    pinned: set[tuple[str, str]] = set()
    found: dict[Weakness, None] = {}
    for lock in locks:  # one at a time, because pip-audit refuses a package that is in two
        for package in _said(url, lock):
            if "skip_reason" in package:  # each pinned version is on the public index
                raise RuntimeError(f"pip-audit could not tell of {package}")
            pinned.add((package["name"], package["version"]))
            found.update(dict.fromkeys(_weaknesses(package)))
    return len(pinned), list(found)


def _said(url: str, lock: Path) -> Sequence[Any]:
    """Return pip-audit's result for each package of a lock file. pip-audit installs no package and
    resolves no dependency."""
    command = [
        *(sys.executable, "-m", "pip_audit", "--format", "json", "--progress-spinner", "off"),
        *("--disable-pip", "--require-hashes", "--requirement", str(lock)),
        *("--vulnerability-service", "osv", "--osv-url", url),
    ]
    done = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=AUDIT_S, check=False
    )
    try:
        packages: Sequence[Any] = json.loads(done.stdout)["dependencies"]
    except ValueError:
        probe(url)  # the service may have become unreachable
        raise RuntimeError(f"pip-audit failed: {done.stderr[-2000:]}") from None
    return packages


def _weaknesses(package: Any) -> list[Weakness]:
    return [
        Weakness(
            package["name"],
            package["version"],
            (each["id"], *each["aliases"]),
            tuple(each["fix_versions"]),
        )
        for each in package["vulns"]
    ]


def judge(found: Sequence[Weakness], endured: Sequence[Endured]) -> list[str]:
    def covers(each: Endured, weakness: Weakness) -> bool:
        return each.package == weakness.package and each.id in weakness.ids

    wrong = [
        f"{weakness.package} {weakness.version}: {' '.join(weakness.ids)},"
        f" mended in {', '.join(weakness.mended_in) or 'no version yet'}"
        for weakness in found
        if not any(covers(each, weakness) for each in endured)
    ]
    wrong += [
        f"the exception {each.id} of {each.package} is needed no more"
        for each in endured
        if not any(covers(each, weakness) for weakness in found)
    ]
    return wrong


def main(url: str, locks: Sequence[Path] = LOCKS, endured: Sequence[Endured] | None = None) -> int:
    try:
        asked, found = weaknesses(url, locks)
    except UnreachableError as error:
        print(f"advisories: NOT CHECKED, nothing is known of the dependencies. {url}: {error}")
        return 0
    wrong = judge(found, read().advisories if endured is None else endured)
    for line in wrong:
        print(f"advisories: {line}")
    if not wrong:
        print(f"advisories: none that concerns us, of {asked} packages")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main(os.environ.get(VARIABLE, SERVICE)))
