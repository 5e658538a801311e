"""Shows a replay job's progress on standard error: a bar on a terminal, a line now and then elsewhere."""

import sys
import time
from collections.abc import Iterable
from typing import TYPE_CHECKING

from api.cli.remote.output import note

if TYPE_CHECKING:
    from angarium.shapes import ReplayProgress

LINE_S = 5.0  # without a terminal: enough to see that it goes on


def watch(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    """Show each progress of a stream, and return the last one."""
    return _bar(stream) if sys.stderr.isatty() else _lines(stream)


def _bar(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    from rich.console import Console
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TextColumn("{task.fields[note]}"),
    )
    with Progress(*columns, console=Console(stderr=True)) as shown:
        task = shown.add_task("PENDING", total=None, note="")
        for last in stream:
            shown.update(
                task,
                description=last["status"],
                total=None if last["status"] == "PENDING" else last["total"],  # still counting
                completed=settled(last),
                note=_note(last),
            )
    return last


def _lines(stream: "Iterable[ReplayProgress]") -> "ReplayProgress":
    told_at, told = float("-inf"), ""
    for last in stream:
        now = time.monotonic()
        if last["status"] != told or now - told_at >= LINE_S:
            told_at, told = now, last["status"]
            note(f"{last['status']} {settled(last)}/{last['total']} {_note(last)}".rstrip())
    return last


def settled(progress: "ReplayProgress") -> int:
    """Return how many deliveries have ended, one way or another."""
    return progress["total"] - progress["remaining"]


def _note(progress: "ReplayProgress") -> str:
    parts = []
    if progress["failed"]:
        parts.append(f"{progress['failed']} failed")
    if progress["skipped"]:
        parts.append(f"{progress['skipped']} skipped")
    if progress["perSecond"] is not None:
        parts.append(f"{progress['perSecond']:.0f}/s")
    if progress["etaSeconds"]:
        parts.append(f"{progress['etaSeconds']:.0f} s left")
    return ", ".join(parts)
