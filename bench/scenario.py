"""A scenario: a named measurement on new servers, from a file or from a function.

A scenario's bars (limits for figures) apply to the scenario's default sizes.
"""

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Any, Protocol

from bench.calibration import drifted, floors
from bench.checks import Broken
from bench.results import Measurement
from bench.service import Figures, Receiver, Service

Sizes = dict[str, Any]  # numbers, and names
Bars = dict[str, dict[str, float]]  # of figures: `atMost` or `atLeast` a number, and `stretch`


class Serve(Protocol):
    """A function that starts a server with the environment variables `settings`. The function can also
    start a variant of the server's program, or return a server that runs already."""

    def __call__(
        self, settings: Mapping[str, str] | None = None
    ) -> AbstractContextManager[Service]: ...


@dataclass(frozen=True)
class Scenario:
    """A measurement that has a name. The function `measured` has two parameters: the sizes, and a
    function that starts servers. If the second parameter is None, `measured` starts its own servers.
    `measured` raises `Broken` if events were lost, invented or out of order."""

    name: str
    about: str
    measured: Callable[[Sizes, Serve | None], Measurement]
    sizes: Sizes = field(default_factory=dict)
    tiny: Sizes = field(default_factory=dict)  # for tests
    better: dict[str, str] = field(default_factory=dict)  # compared figures: `less` or `more`
    bars: Bars = field(default_factory=dict)
    minutes: float = 1.0  # of one measurement, with floors and set-up

    def with_sizes(self, changes: Mapping[str, Any], *, tiny: bool = False) -> Sizes:
        """Return the sizes with `changes` applied. With `tiny`, `changes` apply to the tiny sizes. Raises
        ValueError for an unknown size."""
        known = self.sizes | self.tiny
        if strange := sorted(changes.keys() - known.keys()):
            listed = ", ".join(known) or "none at all"
            raise ValueError(f"{self.name} has no size {', '.join(strange)}; it has {listed}")
        return self.sizes | (self.tiny if tiny else {}) | dict(changes)

    def measure(self, sizes: Sizes, serve: Serve | None = None) -> Measurement:
        """Measure once. A broken promise becomes a measurement with the verdict `broken`."""
        try:
            return self.measured(sizes, serve)
        except Broken as verdict:
            return Measurement(figures={}, verdict="broken", reason=str(verdict))


def program(
    name: str,
    about: str,
    run: Callable[..., Figures | Measurement],
    sizes: Sizes,
    tiny: Sizes,
    *,
    serve: Callable[[], Service] = Service,
    better: dict[str, str] | None = None,
    bars: Bars | None = None,
    minutes: float = 1.0,
) -> Scenario:
    """Return the scenario of `run`, a function that takes a new server, a receiver and sizes.

    Figures that are not numbers become notes. `serve` makes the server. If `serve` is left out, the
    caller of `Scenario.measured` can pass a function that makes the server. If `serve` is given, the
    caller's function is ignored.
    """

    def measured(sizes: Sizes, other: Serve | None) -> Measurement:
        if other is None or serve is not Service:
            served: AbstractContextManager[Service] = serve()
        else:
            served = other()
        with Receiver() as receiver, served as service:
            before = floors(service)
            made = run(service, receiver, **sizes)
            found = made if isinstance(made, Measurement) else measurement_of(made)
            found.floors = [before, *found.floors, floors(service)]
        found.drifted = drifted(found.floors)
        return found

    return Scenario(
        name, about, measured, sizes, tiny, dict(better or {}), dict(bars or {}), minutes
    )


def measurement_of(figures: Figures) -> Measurement:
    """Return a function's figures as a measurement."""
    numbers = {name: float(each) for name, each in figures.items() if _is_number(each)}
    notes = {name: str(each) for name, each in figures.items() if not _is_number(each)}
    return Measurement(figures=numbers, notes=notes)


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool)
