"""The parent of workers: its reaction to signs of life, ends and exit codes. No process is started."""

import os
import signal
import time

import pytest

from api.composition import workers as module
from api.composition.failures import EXIT_FAILED, EXIT_SETTINGS
from api.composition.workers import (
    EXIT_HANDED_OVER,
    EXIT_LOST,
    FROZEN_S,
    PULSE,
    STARTING_S,
    STEADY_S,
    Workers,
)
from engine.settings import Settings

PID = 4_000_001  # larger than any process id


@pytest.fixture
def signals(monkeypatch: pytest.MonkeyPatch) -> list[tuple[int, int]]:
    sent: list[tuple[int, int]] = []
    monkeypatch.setattr(os, "kill", lambda pid, number: sent.append((pid, number)))
    return sent


@pytest.fixture
def parent(signals: list[tuple[int, int]]) -> Workers:
    settings = Settings(workers=2, database_url="postgresql:///none", master_key="k")
    parent = Workers(settings, lambda _: 0, lambda *_: 0)
    for number, worker in enumerate(parent._workers):
        worker.pid = PID + number
    return parent


def test_a_worker_without_signs_of_life_is_killed(
    parent: Workers, signals: list[tuple[int, int]]
) -> None:
    frozen, lively = parent._workers
    parent._beat(0)
    for look in range(int(FROZEN_S) + 1):
        parent._beat(1)
        assert not signals or look >= FROZEN_S
        for worker in (frozen, lively):
            parent._feel(worker, 1.0)
    assert signals == [(PID, signal.SIGKILL)]


def test_a_worker_that_freezes_before_its_first_sign_of_life_is_killed_later(
    parent: Workers, signals: list[tuple[int, int]]
) -> None:
    for _ in range(int(STARTING_S) - 1):
        parent._feel(parent._workers[0], 1.0)
    assert PULSE.unpack_from(parent._pulses) == (0,)
    assert signals == []
    parent._feel(parent._workers[0], 1.0)
    assert signals == [(PID, signal.SIGKILL)]


def test_a_worker_that_dies_again_and_again_starts_later_each_time(parent: Workers) -> None:
    worker, rests = parent._workers[0], []
    for _ in range(12):
        worker.pid, worker.started = PID, 100.0
        parent._ended(worker, -signal.SIGKILL, 101.0)
        rests.append(worker.due - 101.0)
    assert rests[0] == 0.0, "the first time at once"
    assert rests == sorted(rests)
    assert rests[-1] == module.LONGEST_REST_S
    worker.pid, worker.started = PID, 0.0
    parent._ended(worker, 1, STEADY_S)
    assert worker.due == STEADY_S, "it had worked for long enough"


@pytest.mark.parametrize(
    ("code", "ends"), [(EXIT_SETTINGS, EXIT_SETTINGS), (EXIT_LOST, EXIT_FAILED)]
)
def test_an_end_that_a_new_start_cannot_mend_ends_all(
    parent: Workers, signals: list[tuple[int, int]], code: int, ends: int
) -> None:
    parent._workers[0].started = time.monotonic()
    parent._ended(parent._workers[0], code, time.monotonic())
    assert signals == [(PID + 1, signal.SIGTERM)]
    assert parent._code == ends


@pytest.mark.parametrize("code", [EXIT_LOST, EXIT_HANDED_OVER])
def test_a_worker_whose_part_works_on_another_machine_starts_again(
    signals: list[tuple[int, int]], code: int
) -> None:
    parent = Workers(
        Settings(
            workers=2, database_url="postgresql:///none", master_key="k", peer_bind="127.0.0.1:7000"
        ),
        lambda _: 0,
        lambda *_: 0,
    )
    worker = parent._workers[0]
    worker.pid, worker.started = PID, 100.0
    parent._ended(worker, code, 101.0)
    assert not worker.pid
    assert worker.due == 101.0, "at once"
    assert signals == []
