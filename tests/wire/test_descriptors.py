"""Each connection needs a file descriptor, and a process has a limited number of these. If no descriptor
is free, an idle connection is evicted. If there is no idle connection, new connections wait in turn."""

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
import trio

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory as Error
from engine.wire import descriptors as descriptors_module
from tests.wire.street import (
    Gate,
    Receiver,
    Street,
    a_destination,
    answer_ok,
    open_street,
    until,
)


async def test_idle_connections_make_room_when_descriptors_are_used_up() -> None:
    async with open_street(
        share=2 / resource.getrlimit(resource.RLIMIT_NOFILE)[0] + 1e-9
    ) as street:
        receivers = [await street.open(answer_ok) for _ in range(4)]
        assert street.client.statistics().descriptors_limit == 2
        for _ in range(2):
            for receiver in receivers:
                assert (await street.attempt(a_destination(receiver.url))).success
        assert street.client.statistics().evicted > 0
        assert street.client.statistics().descriptors <= 2


async def test_who_finds_no_descriptor_waits_in_turn() -> None:
    async with open_street(
        share=1 / resource.getrlimit(resource.RLIMIT_NOFILE)[0] + 1e-9
    ) as street:
        gate = Gate()
        held = await street.open(gate.serve)
        others: list[Receiver] = [await street.open(answer_ok) for _ in range(3)]
        outcomes: list[Outcome] = []
        street.begin(a_destination(held.url), outcomes.append)
        await until(lambda: held.requests)
        for receiver in others:
            street.begin(a_destination(receiver.url), outcomes.append)
        outcome = await street.attempt(a_destination(others[0].url, id="late", timeout_ms=150))
        assert outcome.category is Error.TIMEOUT
        assert "descriptor" in (outcome.message or "")
        gate.opened.set()
        await until(lambda: len(outcomes) == 4)
        assert all(outcome.success for outcome in outcomes)


@contextmanager
def few_descriptors(spare: int) -> Iterator[None]:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    highest = max(int(name) for name in os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (highest + 1 + spare, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))


async def test_when_the_system_has_no_descriptor_attempts_wait_for_one(
    street: Street, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(descriptors_module, "REST_S", 0.02)
    receiver = await street.open(answer_ok)
    outcomes: list[Outcome] = []
    fillers: list[int] = []
    with few_descriptors(0):
        while True:
            try:
                fillers.append(os.dup(0))
            except OSError:
                break
        street.begin(a_destination(receiver.url), outcomes.append)
        await until(lambda: street.client.statistics().descriptors_waiting == 1)
        await trio.sleep(0.1)  # enough time for several tries
        assert not outcomes
        assert street.client.statistics().descriptors_waiting == 1
    for descriptor in fillers:
        os.close(descriptor)
    await until(lambda: outcomes)
    assert outcomes[0].success
