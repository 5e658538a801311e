"""The bars of a run: each compares the median of a figure over the run's measurements with a limit."""

import statistics
from dataclasses import dataclass

from bench.results import Run


@dataclass(frozen=True, slots=True)
class Bar:
    """A limit of a figure, `demanded`; `stretch` is a stricter goal."""

    figure: str
    at_most: bool
    demanded: float
    stretch: float | None
    median: float | None  # None if no measurement has the figure

    @property
    def held(self) -> bool:
        return self._reached(self.demanded)

    @property
    def stretched(self) -> bool:
        return self.stretch is not None and self._reached(self.stretch)

    def _reached(self, bound: float) -> bool:
        if self.median is None:
            return False
        return self.median <= bound if self.at_most else self.median >= bound

    def __str__(self) -> str:
        return f"{'at most' if self.at_most else 'at least'} {self.demanded:g}"


def bars_of(run: Run) -> list[Bar]:
    """Return the bars of a run with their medians. Raises ValueError unless a bar has exactly one of
    `atMost` and `atLeast`."""
    return [_judged(run, figure, bar) for figure, bar in run.bars.items()]


def median(run: Run, figure: str) -> float | None:
    """Return the median over the measurements with verdict ok, or None."""
    values = [
        each.figures[figure]
        for each in run.measurements
        if each.verdict == "ok" and figure in each.figures
    ]
    return statistics.median(values) if values else None


def _judged(run: Run, figure: str, bar: dict[str, float]) -> Bar:
    at_most = "atMost" in bar
    if at_most == ("atLeast" in bar):
        raise ValueError(f"{run.scenario}: the bar of {figure} is atMost or atLeast a number")
    return Bar(
        figure,
        at_most,
        bar["atMost" if at_most else "atLeast"],
        bar.get("stretch"),
        median(run, figure),
    )
