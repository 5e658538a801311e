"""The record of filters that could not be evaluated: counted in memory, written within seconds.

Failures are summed up by rule: each rule has one row, however often its filter fails. A crash loses the
failures of the last seconds.
"""

from collections.abc import Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import Protocol

import structlog
import trio

from engine.model.configuration import FilterErrors, FilterFailure
from engine.ports import ContentionError, StoreAwayError, StoreError
from engine.ports.outage import Outage

FLUSH_S = 5.0  # between two writes
AT_ONCE = 1_000  # rules of one statement: some milliseconds
MESSAGE = 500  # characters

log = structlog.get_logger("angarium.filters")


class FailingRule(Protocol):
    """A rule whose filter failed."""

    @property
    def id(self) -> str:
        """Its id."""

    @property
    def environment(self) -> int:
        """The environment's number."""

    @property
    def filter(self) -> str | None:
        """Its source."""


Write = Callable[[Sequence[FilterFailure]], Awaitable[None]]


class FilterFailures:
    """Owner of the failures that were counted and not yet written."""

    def __init__(self, write: Write, now: Callable[[], float]) -> None:
        self._write = write
        self._now = now
        self._outage = Outage("failures of filters")
        self._counted: dict[str, FilterFailure] = {}
        self._open: dict[str, FilterFailure] = {}

    def note(self, rule: FailingRule, message: str) -> None:
        """Count a failure of a rule's filter."""
        new = FilterErrors(1, int(self._now() * 1000), message[:MESSAGE])
        source = rule.filter or ""
        before = self._counted.get(rule.id)
        if before is not None and before.filter == source:
            new = before.errors.plus(new)
        self._counted[rule.id] = FilterFailure(rule.environment, rule.id, source, new)

    def of(self, rule: FailingRule, recorded: FilterErrors | None) -> FilterErrors | None:
        """Return the failures of a rule's filter: `recorded`, and those that are not yet written."""
        known = recorded
        for waiting in (self._open.get(rule.id), self._counted.get(rule.id)):
            if waiting is not None and waiting.filter == rule.filter:
                known = waiting.errors if known is None else known.plus(waiting.errors)
        return known

    async def run(self) -> None:
        """Write the counted failures until cancelled."""
        while True:
            await trio.sleep(FLUSH_S)
            await self.flush()

    async def flush(self) -> None:
        """Write the counted failures. Keep them while the database is away; drop failures that the
        database refuses."""
        if not self._counted:
            return
        self._open, self._counted = self._counted, {}
        try:
            with self._outage.survived():
                while self._open:
                    part = list(islice(self._open, AT_ONCE))
                    try:
                        await self._write([self._open[rule] for rule in part])
                    except (StoreAwayError, ContentionError):
                        raise
                    except StoreError:
                        log.exception("filter_failures.refused", rules=len(part))
                    for rule in part:
                        del self._open[rule]
            self._take_back(self._open.values())
        finally:
            self._open = {}

    def _take_back(self, failures: Iterable[FilterFailure]) -> None:
        for earlier in failures:
            later = self._counted.get(earlier.rule)
            if later is None:
                self._counted[earlier.rule] = earlier
            elif later.filter == earlier.filter:
                errors = earlier.errors.plus(later.errors)
                self._counted[earlier.rule] = FilterFailure(
                    later.environment, later.rule, later.filter, errors
                )
