"""Our regular expressions: none takes more than a bounded number of steps per character."""

import ast
import importlib
import math
import pkgutil
import re
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import angarium
import api
import engine
import storage
from engine.schemas import patterns
from engine.templates.catalog import read_catalog
from tests.fuzz.steps import Steps, TooManyError, attacks, repeats_without_end

ROOT = Path(__file__).parents[2]
PACKAGES = (engine, api, storage, angarium)
SHORT, LONG = 120, 480  # characters
FEW = 8  # steps per character: a pattern with fewer passes immediately
GROWTH = 2.0  # the allowed growth from `SHORT` to `LONG`: quadratic patterns have 4, linear ones 1
MOST = 250  # steps per character at which the count stops, because exponential patterns never end
SEARCHING = ("search", "sub", "findall", "finditer", "split")
# Patterns that only read our own programs' output.
OURS = {"storage.backup.making._PROGRESS"}
ASIDE = ("api.cli", "storage.migrations")  # they read only an operator's terminal


def modules() -> Iterator[Any]:
    for package in PACKAGES:
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            if not found.name.startswith(ASIDE):
                yield importlib.import_module(found.name)


def known() -> dict[str, re.Pattern[Any]]:
    found: dict[str, re.Pattern[Any]] = {}
    for module in modules():
        for name, value in vars(module).items():
            if isinstance(value, re.Pattern) and f"{module.__name__}.{name}" not in OURS:
                found[f"{module.__name__}.{name}"] = value
    for definition in read_catalog().all():
        if definition.address.pattern is not None:
            found[f"template.{definition.id}"] = definition.address.pattern
    return found


def searched() -> set[str]:
    names: set[str] = set()
    for package in PACKAGES:
        for file in Path(package.__path__[0]).rglob("*.py"):
            for node in ast.walk(ast.parse(file.read_text())):
                if isinstance(node, ast.Attribute) and node.attr in SEARCHING:
                    of = node.value
                    names.add(of.id if isinstance(of, ast.Name) else getattr(of, "attr", ""))
    return names


@cache  # many modules use the same pattern
def is_dear(pattern: re.Pattern[Any], everywhere: bool) -> str | None:
    """Return a text for which the pattern takes more than linear time, or None if no such text is found.
    Each attack makes a short text and a long text. If the long text takes many more steps per character
    than the short text, the time is more than linear."""
    if repeats_without_end(pattern) < (1 if everywhere else 2):
        return None
    for attack in attacks(pattern):
        short = each(pattern, attack.text(SHORT), everywhere)
        if short > FEW and each(pattern, attack.text(LONG), everywhere) > short * GROWTH:
            return attack.text(SHORT)
    return None


def each(pattern: re.Pattern[Any], text: str, everywhere: bool) -> float:
    steps = Steps(pattern, text, MOST * len(text))
    try:
        if everywhere:
            steps.everywhere()
        else:
            steps.whole()
    except TooManyError:
        return math.inf if len(text) > LONG else MOST
    return steps.count / len(text)


@pytest.fixture(autouse=True)
def _deep() -> Iterator[None]:
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(200_000)
    yield
    sys.setrecursionlimit(before)


def test_every_pattern_is_linear_over_what_is_made_to_make_it_go_back() -> None:
    names = searched()
    found = known()
    assert len(found) > 60
    dear = {
        name: is_dear(pattern, name.rpartition(".")[2] in names) for name, pattern in found.items()
    }
    assert {name: text for name, text in dear.items() if text is not None} == {}


@pytest.mark.parametrize(
    ("pattern", "everywhere"),
    [
        (r'"[^"\\]*(?:\\.[^"\\]*)*"', True),
        (r"(?:unknown|required) field `(.*)`$", True),
        (r"(a+)+b", False),
        (r"[a-z]*[a-z0-9]*[a-z]*!", False),
        (r"\s+$", True),
        (r"(?:a|ab|b)*c", False),
    ],
)
def test_a_pattern_that_goes_back_is_noticed(pattern: str, everywhere: bool) -> None:
    assert is_dear(re.compile(pattern), everywhere) is not None


def test_an_open_bracket_is_sought_an_end_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sought = 0

    class Counting:
        def match(self, text: str, at: int) -> Any:
            nonlocal sought
            sought += 1
            return found.match(text, at)

    found = patterns.CLASS
    monkeypatch.setattr(patterns, "CLASS", Counting())
    assert patterns.pattern_size("[" * 5_000) >= 5_000
    assert patterns.pattern_size(r"[\]" * 5_000) >= 5_000
    assert sought == 2
