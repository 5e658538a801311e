"""The scope of one evaluation: the event's fields, the variables of macros, and the steps left."""

import json
from collections.abc import Callable, Collection
from typing import Any

import orjson

from engine.core.records import Event
from engine.filters.syntax import EvaluationError
from engine.model.instants import iso
from engine.model.json_members import without_surrogates

# The limits on the steps of one evaluation, and on the steps of all evaluations of one event together.
# One step pays for one node of a macro's body, for one visited element of a list, or for 64 characters of
# text. This work takes 0.1 to 0.3 us. Plain comparisons need no steps.
#
# With these limits, an evaluation ends within some 3 ms. All evaluations of an event together end within
# 10 ms.
STEPS = 10_000
EVENT_STEPS = 30_000
SLICE_STEPS = 2_000  # between two pauses: some half a millisecond
INT_MIN, UINT_MAX = -(2**63), 2**64 - 1
_INTEGER_DIGITS = 20  # the most characters of both, with the sign


class Facts:
    """An event on which filters are evaluated one after another, and the steps that are left for this.
    `pause` is called between slices of the work."""

    __slots__ = ("_floor", "_look", "_pause", "_slice_ends", "fields", "steps", "variables")

    def __init__(self, fields: dict[str, Any], pause: Callable[[], None] | None = None) -> None:
        self.fields = fields
        self.steps = EVENT_STEPS
        self._pause = pause
        self._floor = 0
        self._slice_ends = 0 if pause is None else EVENT_STEPS - SLICE_STEPS
        self._look = self._slice_ends  # `spend` calls `_stop` below it
        self.variables: list[Any] = [None, None]

    def begin(self) -> None:
        """Begin another evaluation, with at most `STEPS` of the steps that the event has left."""
        self._floor = max(0, self.steps - STEPS)
        self._look = max(self._floor, self._slice_ends)

    def spend(self, steps: int) -> None:
        """Take steps. Raises EvaluationError when there are none left."""
        self.steps -= steps
        if self.steps < self._look:
            self._stop()

    def _stop(self) -> None:
        if self.steps < self._floor:
            self.steps = self._floor
            raise EvaluationError("too much to look at: the lists or texts are too long")
        if self._pause is not None:
            self._slice_ends = max(0, self.steps - SLICE_STEPS)
            self._look = max(self._floor, self._slice_ends)
            self._pause()


def facts_of(
    event: Event, wanted: Collection[str], pause: Callable[[], None] | None = None
) -> Facts:
    """Return an event as filters see it, for filters that read the `wanted` fields.

    Numbers become numbers of CEL. An integer of at most 64 bits stays an integer. Any other number
    becomes a double; if it is too large for a double, it becomes infinity. If an object repeats a name,
    the last member counts. U+FFFD replaces a lone surrogate.
    """
    fields: dict[str, Any] = {"eventType": event.type}
    if "payload" in wanted:
        fields["payload"] = decoded(event.payload)
    if event.metadata is not None and "metadata" in wanted:
        fields["metadata"] = decoded(event.metadata)
    if event.source is not None:
        fields["source"] = event.source
    if event.customer is not None:
        fields["customerExternalId"] = event.customer
    if "occurredAt" in wanted:
        fields["occurredAt"] = iso(event.occurred_at_ms)
    return Facts(fields, pause)


def decoded(document: bytes) -> Any:
    """Return the value of a JSON document that was checked when it came in."""
    try:
        return orjson.loads(document)
    except orjson.JSONDecodeError:  # a lone surrogate, or a number beyond what doubles hold
        text = without_surrogates(document, rb"\ufffd")
        return json.loads(text, parse_int=_integer)


def _integer(digits: str) -> int | float:
    """Like orjson: a double if 64 bits do not hold the integer."""
    if len(digits) <= _INTEGER_DIGITS and INT_MIN <= (value := int(digits)) <= UINT_MAX:
        return value
    return float(digits)
