"""The sampling of requests: its rate, and the cost of an unsampled request."""

import random
import sys
from collections.abc import Callable
from types import FrameType
from typing import Any

import pytest

from engine.core.vocabulary import Environment
from engine.model.read_models import EnvironmentModel
from engine.submission.receipts import Reply
from engine.tracing.sampling import Sampler
from engine.tracing.traced import TracedIngest
from engine.tracing.tracer import Tracer

ENVIRONMENT = EnvironmentModel(1, "w", Environment.DEVELOPMENT)


@pytest.mark.parametrize("ratio", [0.0, 0.01, 0.5, 1.0])
def test_a_share_of_the_requests_is_chosen(ratio: float) -> None:
    sampler = Sampler(ratio, random.Random(7).random)
    chosen = sum(sampler.chosen() for _ in range(100_000)) / 100_000
    assert chosen == pytest.approx(ratio, rel=0.1)


def test_the_smallest_share_is_chosen_from_as_any_other() -> None:
    assert not Sampler(5e-324, lambda: 0.5).chosen()
    assert Sampler(5e-324, lambda: 0.0).chosen()


class Calls:
    """Counts calls of functions (Python and C) during the block."""

    count = 0

    def __enter__(self) -> "Calls":
        sys.setprofile(self._called)
        return self

    def __exit__(self, *_: object) -> None:
        sys.setprofile(None)

    def _called(self, frame: FrameType, event: str, arg: Any) -> None:
        if event == "call" or (event == "c_call" and arg is not sys.setprofile):
            self.count += 1


class Ingest:
    def submit(
        self,
        environment: EnvironmentModel,
        body: bytes,
        batch: bool,
        done: Callable[[Reply], None],
        hops: int = 0,
        key: str | None = None,
        trace: str | None = None,
    ) -> None:
        """Do nothing."""


def calls_of(ingest: Ingest | TracedIngest) -> int:
    with Calls() as calls:
        ingest.submit(ENVIRONMENT, b"", False, lambda _: None)
    return calls.count - 1  # without the exit of the block


def test_a_request_that_is_left_out_costs_one_call_more() -> None:
    plain = Ingest()
    sampler = Sampler(0.5, lambda: 0.99)
    tracer = Tracer(lambda _: None, sampler, lambda: 1.0, lambda _: None)
    traced = TracedIngest(plain, tracer)
    assert calls_of(plain) == 1
    assert [calls_of(traced) for _ in range(6)] == [2] * 6
    assert calls_of(traced) > 2, "the seventh is chosen"
