"""The rows of a table of destinations, with their health and their rates."""

import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import islice
from typing import TYPE_CHECKING, Any, Literal

from api.cli.remote.tables import TableColumn

if TYPE_CHECKING:
    from angarium import Client
    from angarium.shapes import DestinationSummary

Sort = Literal["trouble", "pending", "name"]
SORTS: tuple[Sort, ...] = ("trouble", "pending", "name")
EVERY_S = 2.0
HOUR_S = 3_600
Row = dict[str, Any]

COLUMNS = (
    TableColumn("STATE", "state"),
    TableColumn("HOLD", "hold"),
    TableColumn("PENDING", "pending"),
    TableColumn("RATE/S", "rate"),
    TableColumn("IN FLIGHT", "inFlight"),
    TableColumn("CONCURRENCY", "concurrency"),
    TableColumn("DLQ", "inDlq"),
    TableColumn("ID", "id"),
    TableColumn("NAME", "name"),
    TableColumn("URL", "url"),
)


@dataclass
class Overview:
    """The reader of destinations. A destination's rate is its average since the previous read. If the
    previous read did not include the destination, the rate is its average in the present clock hour."""

    client: "Client"
    sort: Sort = "trouble"
    statuses: tuple[str, ...] = ()  # empty: all except archived
    account: str | None = None
    _before: dict[str, int] = field(default_factory=dict)
    _looked_at: float = 0.0

    def rows(self, limit: int | None, now: float | None = None) -> list[Row]:
        """Return at most `limit` rows. `now` is in seconds since the epoch."""
        now = time.time() if now is None else now
        found = list(islice(self._wanted(), limit))
        elapsed = max(now - self._looked_at, 0.001)
        rows = [row_of(each, self._rate(each, elapsed, now)) for each in found]
        self._before = {each["destination"]["id"]: each["totals"]["attempts"] for each in found}
        self._looked_at = now
        return rows

    def _wanted(self) -> Iterator["DestinationSummary"]:
        for each in self.client.destinations.summaries(sort=self.sort):
            destination = each["destination"]
            if self.statuses and destination["status"] not in self.statuses:
                continue
            if self.account in (None, destination["customerAccountId"]):
                yield each

    def _rate(self, summary: "DestinationSummary", elapsed_s: float, now: float) -> float:
        before = self._before.get(summary["destination"]["id"])
        if before is None:
            return summary["series"][-1]["attempts"] / max(now % HOUR_S, 1.0)
        return max(0, summary["totals"]["attempts"] - before) / elapsed_s


def row_of(summary: "DestinationSummary", rate: float) -> Row:
    """Return a row of a table."""
    destination, health = summary["destination"], summary["health"]
    hold = health["hold"]
    configured = destination["delivery"]["concurrency"]
    allowed = health["queue"]["concurrency"]
    return {
        "state": health["state"],
        "hold": None if hold is None else hold["reason"],
        "circuit": health["circuit"]["state"],
        "pending": health["queue"]["pending"],
        "rate": round(rate, 1),
        "inFlight": health["queue"]["inFlight"],
        "concurrency": f"auto ({allowed})" if configured == "auto" else configured,
        "allowed": allowed,
        "p95": health["latencyMs"]["p95"],
        "inDlq": f"{summary['inDlq']}{'+' if summary['atLeast'] else ''}",
        "status": destination["status"],
        "id": destination["id"],
        "name": destination["name"],
        "url": destination["url"],
    }
