"""Detection of an idle server."""

from collections.abc import Iterator
from typing import cast

import pytest

import bench.resting
from bench.checks import Broken
from bench.resting import resting
from bench.service import Service

TICK = 0.01


class Working:
    def __init__(self, looks: Iterator[tuple[float, float]]) -> None:
        self._looks = looks

    def cpu_s(self) -> tuple[float, float]:
        return next(self._looks)


def service(*looks: tuple[float, float]) -> Service:
    def endless() -> Iterator[tuple[float, float]]:
        yield from looks
        while True:
            yield looks[-1]

    return cast(Service, Working(endless()))


@pytest.fixture(autouse=True)
def without_waiting(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.resting, "LOOK_S", 0.0)


def test_the_cpu_is_that_of_the_first_look_of_the_rest() -> None:
    busy = service((1.0, 1.0), (1.2, 1.1), (1.4, 1.2), (1.5, 1.3), (1.5, 1.3 + TICK))
    assert resting(busy, lambda: True) == (1.5, 1.3)


def test_a_database_that_is_busy_is_waited_for_but_not_for_its_own_work(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    looks = [(1.0, number * 0.125) for number in range(8)]
    assert resting(service(*looks), lambda: True) == (1.0, 0.875)
    monkeypatch.setattr(bench.resting, "UPKEEP_S", 0.0)
    assert resting(service(*looks), lambda: True) == (1.0, 0.0)


def test_a_rest_with_something_unrecorded_is_none() -> None:
    asked = iter([False, False, True])
    looks = [(number * 0.5, 0.0) for number in (0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2)]
    assert resting(service(*looks), lambda: next(asked)) == (1.0, 0.0)


def test_what_is_never_recorded_breaks_the_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bench.resting, "SETTLE_S", 0.0)
    with pytest.raises(Broken, match="unrecorded"):
        resting(service((1.0, 1.0)), lambda: False)
