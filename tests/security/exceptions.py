"""What the audits find and that stays: read from one file, where each has its reason."""

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path

FILE = Path(__file__).with_name("exceptions.toml")


@dataclass(frozen=True)
class Excused:
    """A finding of bandit's: its number, and the patterns of the files where it is expected."""

    test: str
    files: tuple[str, ...]
    reason: str

    def covers(self, test: str, file: str) -> bool:
        return test == self.test and any(fnmatch(file, pattern) for pattern in self.files)


@dataclass(frozen=True)
class Endured:
    """An advisory that does not concern us: its number or an alias of it, and the package."""

    id: str
    package: str
    reason: str


@dataclass(frozen=True)
class Exceptions:
    """All of them."""

    bandit: tuple[Excused, ...]
    advisories: tuple[Endured, ...]


def read(file: Path = FILE) -> Exceptions:
    """Read the file. Raises ValueError where one has no reason."""
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
