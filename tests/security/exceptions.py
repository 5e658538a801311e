"""The accepted findings of the audits, in one file that gives a reason for each."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

FILE = Path(__file__).with_name("exceptions.toml")


@dataclass(frozen=True)
class Excused:
    """An accepted finding of bandit: its id, and patterns of the files in which it is expected."""

    test: str
    files: tuple[str, ...]
    reason: str

    def covers(self, test: str, file: str) -> bool:
        return test == self.test and any(fnmatch(file, pattern) for pattern in self.files)


@dataclass(frozen=True)
class Endured:
    """An advisory that does not affect us, by its id or an alias."""

    id: str
    package: str
    reason: str


@dataclass(frozen=True)
class Exceptions:
    bandit: tuple[Excused, ...]
    advisories: tuple[Endured, ...]


def read(file: Path = FILE) -> Exceptions:
    """Read the file. Raises ValueError if an entry has no reason."""
    text = tomllib.loads(file.read_text("utf-8"))
    excused = tuple(
        Excused(each["test"], tuple(each["files"]), each["reason"])
        for each in text.get("bandit", ())
    )
    endured = tuple(
        Endured(each["id"], each["package"], each["reason"]) for each in text.get("advisory", ())
    )
    reasons = [each.reason for each in excused] + [each.reason for each in endured]
    if not all(reason.strip() for reason in reasons):
        raise ValueError(f"{file}: an exception without a reason")
    return Exceptions(excused, endured)
