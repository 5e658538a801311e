"""The meaning of an answer by the template's rules: a 200 can report a failure, a 403 a rate limit."""

import json
import math
import re
from collections.abc import Iterator
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.templates.filters import path
from engine.wire.failure import RETRY_AFTER_LIMIT_S, RETRY_AFTER_STATUSES, retry_after_s

MESSAGE_LENGTH = 200  # characters of a service's message; the attempt's record has the whole body
# A template's rules judge only outcomes with these categories: None (a success), and the error categories
# that follow from the status of a receiver's answer. For example, the rules do not judge a timeout.
_ANSWERED = frozenset(
    (None, ErrorCategory.HTTP_4XX, ErrorCategory.HTTP_5XX, ErrorCategory.RATE_LIMITED,
     ErrorCategory.DESTINATION_GONE)
)  # fmt: skip
_SPACE = re.compile(r"[\s\x00-\x1f\x7f]+")
_UNKNOWN = object()
_ENTRY = ConfigDict(extra="forbid", frozen=True)


class Sign(BaseModel):
    """A condition on an answer. An answer meets the condition if it matches every field that the
    condition sets. `json` is a path to a member of the answer's body, such as `error.code`."""

    model_config = _ENTRY

    status: list[int] = []
    header: str | None = (
        None  # a header that the answer must have; with `among`, with one of these values
    )
    json_: str | None = Field(None, alias="json")
    text: str | None = None  # the whole body, trimmed
    among: list[str | int | bool] = []  # allowed values of the header or member; empty: any
    contains: str | None = None  # a lower-case text within the member, whose case does not matter


class Wait(BaseModel):
    """The header, or the member of the body, that says how long to wait. Its value is a number of
    seconds. If `epoch` is set, the value is an instant instead, in seconds since 1970. The value of
    the header `retry-after` can also be a date."""

    model_config = _ENTRY

    header: str | None = None
    json_: str | None = Field(None, alias="json")
    epoch: bool = False


class AnswerRule(Sign):
    """A condition on the answer of a failed attempt, and its consequence. If the answer meets the
    condition, the failure gets the error category `category`. Only the first such rule applies.

    The rule sets a wait only if `category` is RATE_LIMITED or the status is in RETRY_AFTER_STATUSES.
    `wait`: the places in the answer that can say how long to wait. None: the places in
    `AnswerRules.wait`. `wait_s`: the wait in seconds, if neither these places nor the header
    `retry-after` say how long. None: then the rule sets no wait.
    """

    category: Literal["RATE_LIMITED", "HTTP_4XX", "HTTP_5XX"]
    wait: list[Wait] | None = None
    wait_s: float | None = Field(None, gt=0, le=3_600)


class AnswerRules(BaseModel):
    """A template's rules. Without rules, the status decides."""

    model_config = _ENTRY

    ok: Sign | None = None  # a 2xx is a success only if this holds
    message: list[
        str
    ] = []  # members for the failure's message: the first with a text counts; "." is the whole body
    wait: list[Wait] = [Wait(header="retry-after")]
    rules: list[AnswerRule] = []  # the first that holds applies

    def judge(self, outcome: Outcome) -> Outcome:
        """Return an outcome by these rules."""
        if outcome.status is None or outcome.skipped or outcome.category not in _ANSWERED:
            return outcome
        if outcome.success and self.ok is None:
            return outcome
        answer = _Answer(outcome)
        if outcome.success:
            # If the member that `ok` names was cut off, the status decides.
            if self.ok is None or answer.shows(self.ok) is not False:
                return outcome
            outcome.success = False
            outcome.category = ErrorCategory.HTTP_4XX
            outcome.message = f"the receiver answered {outcome.status}, but that it failed"
        rule = next((rule for rule in self.rules if answer.shows(rule)), None)
        if rule is not None:
            outcome.category = ErrorCategory[rule.category]
        words = self._words(answer)
        if words:
            outcome.message = f"{outcome.message}: {words}"
        if outcome.category is ErrorCategory.RATE_LIMITED or outcome.status in RETRY_AFTER_STATUSES:
            sources = self.wait if rule is None or rule.wait is None else rule.wait
            asked = next(answer.waits(sources), None)
            if asked is not None:
                outcome.retry_after_s = asked
            elif outcome.retry_after_s is None and rule is not None:
                outcome.retry_after_s = rule.wait_s
        return outcome

    def _words(self, answer: "_Answer") -> str:
        for member in self.message:
            found = answer.text if member == "." else path(answer.document, member)
            if isinstance(found, list):
                found = next((each for each in found if isinstance(each, str)), None)
            if isinstance(found, str) and (
                words := _SPACE.sub(" ", found[: 4 * MESSAGE_LENGTH]).strip()
            ):
                return words if len(words) <= MESSAGE_LENGTH else words[: MESSAGE_LENGTH - 1] + "…"
        return ""


class _Answer:
    def __init__(self, outcome: Outcome) -> None:
        self._outcome = outcome
        self._ended_at = outcome.started_at + outcome.duration_ms / 1000
        self.text = outcome.body.decode("utf-8", "replace").strip()
        self.document, self._whole = _read(self.text)

    def shows(self, sign: Sign) -> bool | None:
        """Return whether the answer meets the condition. Return None if the condition needs a member of
        the body that was cut off."""
        if sign.status and self._outcome.status not in sign.status:
            return False
        if sign.text is not None and self.text != sign.text:
            return False
        if sign.header is not None:
            value = self._header(sign.header)
            if value is None or (sign.among and value not in sign.among):
                return False
        if sign.json_ is not None:
            found = path(self.document, sign.json_, _UNKNOWN)
            if found is _UNKNOWN and self._outcome.truncated and not self._whole:
                return None
            # in Python 1 == True: compare the types too
            same = any(type(each) is type(found) and each == found for each in sign.among)
            if found is _UNKNOWN or (sign.among and not same):
                return False
            if sign.contains is not None and sign.contains not in str(found).lower():
                return False
        return True

    def waits(self, sources: list[Wait]) -> Iterator[float]:
        """Yield the seconds to wait, for each source that has a value."""
        for source in sources:
            seconds: float | None = None
            if source.header is not None:
                seconds = self._header_wait(source.header)
            elif source.json_ is not None:
                seconds = _seconds(path(self.document, source.json_))
            if seconds is None:
                continue
            if source.epoch:
                seconds -= self._ended_at
            if math.isfinite(seconds):
                yield min(max(seconds, 0.0), float(RETRY_AFTER_LIMIT_S))

    def _header_wait(self, name: str) -> float | None:
        value = self._header(name)
        if name == "retry-after":
            named = ((b"retry-after", (value or "").encode("latin-1", "replace")),)
            found = retry_after_s(named, self._ended_at)
            if found is not None:
                return found
        return _seconds(value)

    def _header(self, name: str) -> str | None:
        wanted = name.encode()
        for header, value in self._outcome.headers:
            if header.lower() == wanted:
                return value.decode("latin-1").strip()
        return None


def _seconds(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        return None
    try:
        return float(value)
    except (ValueError, OverflowError):
        return None


def _read(text: str) -> tuple[Any, bool]:
    """Return the values of a JSON body, and True if all of the body could be read. If the body was cut
    off, return the members before the cut, and False."""
    try:
        return json.loads(text), True
    except (ValueError, RecursionError):
        return _members(text), False


def _members(text: str) -> dict[str, Any]:
    found: dict[str, Any] = {}
    decoder = json.JSONDecoder()
    at = _spaced(text, 0)
    if text[at : at + 1] != "{":
        return found
    try:
        while text[at : at + 1] in ("{", ","):
            name, at = decoder.raw_decode(text, _spaced(text, at + 1))
            at = _spaced(text, at)
            if not isinstance(name, str) or text[at : at + 1] != ":":
                break
            value, end = decoder.raw_decode(text, _spaced(text, at + 1))
            if end == len(text):  # a number here can be cut off
                break
            found[name] = value
            at = _spaced(text, end)
    except (ValueError, RecursionError):
        pass
    return found


def _spaced(text: str, at: int) -> int:
    while at < len(text) and text[at] in " \t\r\n":
        at += 1
    return at
