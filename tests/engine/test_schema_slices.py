"""The check of the most expensive schemas. The check pauses for other tasks each time it has run a
bounded number of lines of our code."""

import json
import sys
from types import FrameType
from typing import Any

import pytest

from engine.control.schemas import SchemaDraft, judge
from engine.model.errors import Refusal
from engine.schemas.compiled import SCHEMA_BYTES
from tests.fuzz.dearest import OURS

# At most this many lines of our code may run between two pauses. They take some 6 ms. The most expensive
# check runs 2 million lines in all.
MOST_LINES = 350_000
DEAREST: dict[str, Any] = {
    "alternatives": {"allOf": [{}] * 21_000},
    "formats": {"allOf": [{"format": "email"}] * 3_400},
    "members": {"properties": {f"{number}": {} for number in range(6_600)}},
    "dependent": {"dependentSchemas": {f"{number}": True for number in range(5_500)}},
    "references": {"$defs": {"a": True}, "allOf": [{"$ref": "#/$defs/a"}] * 3_100},
    "patterns": {"patternProperties": {f"a{number}": {} for number in range(1_900)}},
    "classes": {"allOf": [{"pattern": f"^\\d{number}"} for number in range(550)]},
    "options": {"enum": [{}] * 21_000},
    "required": {"required": [str(number) for number in range(9_000)]},
    "tail": {
        "unevaluatedProperties": False,
        "anyOf": [{"properties": {"a": True}}] * 2_500,
    },
}


class Lines:
    """Counts lines of our code between two pauses."""

    def __init__(self) -> None:
        self.most = self._now = 0

    def pause(self) -> None:
        self.most, self._now = max(self.most, self._now), 0

    def trace(self, frame: FrameType, event: str, _: Any) -> Any:
        if not frame.f_code.co_filename.startswith(OURS):
            return None
        self._now += 1
        return self._line

    def _line(self, _frame: FrameType, event: str, _: Any) -> Any:
        self._now += event == "line"
        return self._line


@pytest.mark.parametrize("name", DEAREST)
def test_the_judgement_of_a_schema_gives_way(name: str) -> None:
    assert len(json.dumps(DEAREST[name], separators=(",", ":"))) < SCHEMA_BYTES
    draft = SchemaDraft.model_validate({"eventType": "a", "schema": DEAREST[name]})
    lines, before = Lines(), sys.gettrace()
    sys.settrace(lines.trace)
    try:
        judge(draft, lines.pause)
    except Refusal:
        pass  # a payload may be refused here
    finally:
        sys.settrace(before)
    lines.pause()
    assert lines.most <= MOST_LINES
