"""The bars of a run. A bar is a limit for the median of a figure over the run's measurements."""

import statistics
from dataclasses import dataclass

from bench.results import Run


@dataclass(frozen=True, slots=True)
class Bar:
    """A bar: a limit for the median of a figure. `demanded`: the limit's value. `stretch`: the value of a
    stricter limit, which is only a goal."""

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
    """Return the bars of a run, each with the median of its figure. Raises ValueError if a bar has both
    `atMost` and `atLeast`, or neither."""
    return [_judged(run, figure, bar) for figure, bar in run.bars.items()]


def median(run: Run, figure: str) -> float | None:
    """Return the figure's median over the measurements whose verdict is "ok". Return None if none of
    these measurements has the figure."""
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
