"""Filters of routing rules: CEL expressions over an event, checked whole before they are evaluated."""

from engine.filters.program import Filter, compile_filter
from engine.filters.scope import Facts, facts_of
from engine.filters.syntax import EvaluationError, FilterError

__all__ = ["EvaluationError", "Facts", "Filter", "FilterError", "compile_filter", "facts_of"]
