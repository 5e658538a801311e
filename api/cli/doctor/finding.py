"""The finding of a check, with its severity and its remedy."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. `remedy` can be empty."""

    level: Level
    subject: str
    message: str
    remedy: str = ""


def ok(subject: str, message: str) -> Finding:
    """Return a finding without a problem."""
    return Finding(Level.OK, subject, message)


def warning(subject: str, message: str, remedy: str) -> Finding:
    """Return a finding about a problem with which a server can still work."""
    return Finding(Level.WARNING, subject, message, remedy)


def failure(subject: str, message: str, remedy: str) -> Finding:
    """Return a finding about a problem with which a server cannot work."""
    return Finding(Level.FAILURE, subject, message, remedy)
