"""pip-audit over what is pinned: `python -m tests.security.advisories`. A known weakness fails.

It asks a service on the network. Where that cannot be reached nothing is known, which is said plainly
and does not fail: whoever works without a network could not do anything about it either.
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
VARIABLE = "ANGARIUM_ADVISORIES_URL"  # of a mirror that speaks the same
PROBE_S = 10.0
AUDIT_S = 300.0
# A version with many known weaknesses. A service that knows of none of them is none: something between
# us and it answers instead, and would find us clean.
CANARY = {"package": {"name": "jinja2", "ecosystem": "PyPI"}, "version": "2.4.1"}


class UnreachableError(Exception):
    """The service cannot be asked; the message says why."""


@dataclass(frozen=True)
class Weakness:
    """A known one of a package that is pinned."""

    package: str
    version: str
    ids: tuple[str, ...]  # its number, and those that others gave it
    mended_in: tuple[str, ...]


def probe(url: str) -> None:
    """Raise UnreachableError unless the service answers, and knows something."""
    try:
        answer = httpx.post(url, json=CANARY, timeout=PROBE_S)
        known = answer.json().get("vulns") if answer.status_code == 200 else None
    except (httpx.HTTPError, ValueError) as error:
        raise UnreachableError(f"{type(error).__name__}: {error}") from None
    if not known:
        raise UnreachableError(f"what answers there (status {answer.status_code}) is not it")


def weaknesses(url: str, locks: Sequence[Path] = LOCKS) -> tuple[int, list[Weakness]]:
    """Return how many packages were asked about, and what is known of them.

    Raises UnreachableError, and RuntimeError where the service is there and pip-audit fails all the same.
    """
    probe(url)
    pinned: set[tuple[str, str]] = set()
    found: dict[Weakness, None] = {}
    for lock in locks:  # one by one: pip-audit refuses a package that stands in two
        for package in _said(url, lock):
            if (
                "skip_reason" in package
            ):  # each is on the public index in the version that is pinned
                raise RuntimeError(f"pip-audit could not tell of {package}")
            pinned.add((package["name"], package["version"]))
            found.update(dict.fromkeys(_weaknesses(package)))
    return len(pinned), list(found)


def _said(url: str, lock: Path) -> Sequence[Any]:
    """Return what pip-audit says of each package of a lock. It installs and resolves nothing."""
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
        probe(url)  # it may have gone meanwhile
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
    """Return in words what is wrong: weaknesses that are not endured, and exceptions without one."""

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
    """Say what is known; return the exit code."""
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
