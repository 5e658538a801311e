"""A replay's progress: a bar on a terminal, otherwise lines. Both end with the result."""

import io
import sys
from typing import Any

import pytest

from api.cli.remote.replay import watch


def progress(status: str, delivered: int, **more: Any) -> Any:
    usual = {"total": 4, "failed": 0, "skipped": 0, "perSecond": None, "etaSeconds": None}
    shown = {"id": "i", "status": status, "delivered": delivered, **usual, **more}
    ended = shown["delivered"] + shown["failed"] + shown["skipped"]
    return {**shown, "remaining": shown["total"] - ended}


STREAM = [
    progress("PENDING", 0, total=0),
    progress("RUNNING", 1, perSecond=2.0, etaSeconds=2),
    progress("RUNNING", 2),
    progress("COMPLETED", 2, failed=1, skipped=1, etaSeconds=0),
]


def test_without_a_terminal_it_is_a_line_at_each_change(capsys: pytest.CaptureFixture[str]) -> None:
    assert watch(iter(STREAM)) is STREAM[-1]
    shown = capsys.readouterr()
    assert shown.out == "", "standard output is for the answer"
    assert shown.err.splitlines() == [
        "PENDING 0/0",
        "RUNNING 1/4 2/s, 2 s left",
        "COMPLETED 4/4 1 failed, 1 skipped",
    ]


def test_on_a_terminal_it_is_a_bar(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = io.StringIO()
    screen.isatty = lambda: True  # type: ignore[method-assign]  # a terminal for a test
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "100")
    assert watch(iter(STREAM)) is STREAM[-1]
    assert "COMPLETED" in screen.getvalue()
    assert "4/4" in screen.getvalue()
