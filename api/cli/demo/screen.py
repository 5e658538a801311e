"""The output of the demo and its counts: a live table on a terminal, plain lines elsewhere."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import trio
from rich.console import Console
from rich.live import Live
from rich.table import Table


@dataclass(slots=True)
class DemoTally:
    """The counts of one part of the demo. Times are in seconds. The caller chooses the clock."""

    expected: int
    accepted: int = 0
    verified: int = 0
    refused: int = 0  # webhooks whose signature was not genuine
    failures: int = 0  # attempts that the receiver failed on purpose
    duplicates: int = 0
    unknown: int = 0
    order: list[int] = field(default_factory=list)  # events' numbers, by first success
    latencies_s: list[float] = field(default_factory=list)
    _sent: dict[int, float | None] = field(default_factory=dict)
    _arrived: set[int] = field(default_factory=set)

    def sent(self, number: int, now: float | None) -> None:
        """Note that an event was sent at `now`. If `now` is None, the event's latency is not measured."""
        self._sent[number] = now

    def arrived(self, number: object, now: float) -> None:
        self.verified += 1
        if not isinstance(number, int) or number not in self._sent:
            self.unknown += 1
        elif number in self._arrived:
            self.duplicates += 1
        else:
            self._arrived.add(number)
            self.order.append(number)
            if (sent := self._sent[number]) is not None:
                self.latencies_s.append(now - sent)

    @property
    def complete(self) -> bool:
        return len(self._arrived) >= self.expected

    @property
    def missing(self) -> int:
        return self.expected - len(self._arrived)

    def latency_ms(self, share: float) -> float | None:
        """Return a percentile of the time from sending to arrival. Return None if no latency was measured
        yet."""
        if not self.latencies_s:
            return None
        ordered = sorted(self.latencies_s)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def problems(self, *, in_order: bool) -> list[str]:
        found = []
        if self.accepted != self.expected:
            found.append(f"{self.expected - self.accepted} of {self.expected} events not accepted")
        if self.missing:
            found.append(f"{self.missing} of {self.expected} events did not arrive")
        if self.refused:
            found.append(f"{self.refused} webhooks had no valid signature")
        if self.duplicates:
            found.append(f"{self.duplicates} webhooks came again after their success")
        if self.unknown:
            found.append(f"{self.unknown} webhooks were not sent by this demo")
        if in_order and self.order != sorted(self.order):
            found.append("events arrived out of order at a STRICT destination")
        return found


FRAME_S = 0.1
LINE_S = 1.0  # between plain lines


class Screen:
    """The demo's output."""

    def __init__(self, console: Console | None = None) -> None:
        self._console = console or Console(highlight=False)

    def say(self, text: str = "") -> None:
        """Print a line. The text can contain marks of the library `rich`, such as `[bold]`."""
        self._console.print(text, soft_wrap=True)

    @asynccontextmanager
    async def watching(self, tally: DemoTally) -> AsyncIterator[None]:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._live if self._console.is_terminal else self._lines, tally)
            try:
                yield
            finally:
                nursery.cancel_scope.cancel()

    async def _live(self, tally: DemoTally) -> None:
        with Live(table_of(tally), console=self._console, auto_refresh=False) as live:
            try:
                while True:
                    await trio.sleep(FRAME_S)
                    live.update(table_of(tally), refresh=True)
            finally:
                live.update(table_of(tally), refresh=True)

    async def _lines(self, tally: DemoTally) -> None:
        try:
            while True:
                await trio.sleep(LINE_S)
                self._console.print("   " + line_of(tally), soft_wrap=True)
        finally:
            self._console.print("   " + line_of(tally), soft_wrap=True)


def line_of(tally: DemoTally) -> str:
    """Return the counts as one line."""
    parts = [
        f"accepted {tally.accepted}/{tally.expected}",
        f"arrived {len(tally.order)}",
        f"verified {tally.verified}",
    ]
    if tally.failures:
        parts.append(f"refused on purpose {tally.failures}")
    if tally.latencies_s:
        parts.append(f"p50 {milliseconds(tally, 0.5)}, p99 {milliseconds(tally, 0.99)}")
    return ", ".join(parts)


def table_of(tally: DemoTally) -> Table:
    """Return the counts as a table."""
    table = Table.grid(padding=(0, 2))
    share = len(tally.order) / max(1, tally.expected)
    bar = "━" * round(30 * share)
    table.add_row("   accepted, durable", f"{tally.accepted} of {tally.expected}")
    table.add_row("   arrived", f"{len(tally.order)}", f"[green]{bar}[/green]")
    table.add_row("   signatures verified", f"{tally.verified}")
    if tally.failures:
        table.add_row("   refused on purpose", f"[yellow]{tally.failures}[/yellow]")
    if tally.refused or tally.duplicates or tally.unknown:
        wrong = f"{tally.refused} unsigned, {tally.duplicates} again, {tally.unknown} unknown"
        table.add_row("   wrong", f"[red]{wrong}[/red]")
    p50, p99 = milliseconds(tally, 0.5), milliseconds(tally, 0.99)
    table.add_row("   one by one, to arrival", f"p50 {p50}", f"p99 {p99}")
    return table


def milliseconds(tally: DemoTally, share: float) -> str:
    """Return a percentile of the latency with its unit."""
    value = tally.latency_ms(share)
    if value is None:
        return "-"
    return f"{value:.1f} ms" if value < 1000 else f"{value / 1000:.1f} s"
