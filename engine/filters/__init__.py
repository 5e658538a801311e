"""Filters of routing rules: CEL expressions over an event, checked whole before they are evaluated."""

from engine.filters.errors import EvaluationError, FilterError
from engine.filters.program import Filter, compile_filter
from engine.filters.scope import Facts, facts_of

__all__ = ["EvaluationError", "Facts", "Filter", "FilterError", "compile_filter", "facts_of"]
