"""The errors of filters: of a malformed expression, and of one that cannot be evaluated."""


class FilterError(ValueError):
    """A malformed expression, and the place that is wrong."""

    def __init__(self, source: str, position: int, message: str) -> None:
        line = source.count("\n", 0, position) + 1
        column = position - (source.rfind("\n", 0, position) + 1) + 1
        super().__init__(f"line {line}, column {column}: {message}")
        self.line, self.column = line, column


class EvaluationError(Exception):
    """A filter is neither true nor false of an event. The message holds no value of the event."""


NO_OVERLOAD = "these operands do not go together"
