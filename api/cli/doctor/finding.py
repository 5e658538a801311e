"""The finding of a check: fine, worth knowing, or a fault; with the remedy in words."""

from dataclasses import dataclass
from enum import Enum


class Level(Enum):
    """The severity of a finding."""

    OK = "ok"
    WARNING = "warning"
    FAILURE = "failure"


@dataclass(frozen=True, slots=True)
class Finding:
    """One line of the doctor's report. `remedy` is empty if nothing needs to be done."""

    level: Level
    subject: str
    message: str
    remedy: str = ""


def ok(subject: str, message: str) -> Finding:
    """Return a finding that needs nothing."""
    return Finding(Level.OK, subject, message)


def warning(subject: str, message: str, remedy: str) -> Finding:
    """Return a finding that a server can live with."""
    return Finding(Level.WARNING, subject, message, remedy)


def failure(subject: str, message: str, remedy: str) -> Finding:
    """Return a finding that keeps a server from doing its work."""
    return Finding(Level.FAILURE, subject, message, remedy)
