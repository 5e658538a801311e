"""Fast paths of the settle statement: they write the same rows as the general path."""

import time
from collections.abc import Sequence
from typing import Any

import pytest
import trio
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec import structs

from engine.core.records import Delivery, Settlement
from engine.core.vocabulary import DeliveryOrigin
from storage.database.columns import Arguments
from storage.recording import outcomes, successes
from tests.storage.world import (
    DAY_MS,
    World,
    event,
    failure,
    identity,
    settle_group,
    shifted,
    success,
)

LONG = successes.INLINE_BYTES
WAYS = (
    "text of their own",
    "attempt in the delivery's row",
    "singles are counted by SQL",
    "the day's partition is named",
    "a shared column is one value",
)
KEPT_ELSEWHERE = {"id", "event", "destination", "delivery", "seq", "attempts"}

ends = st.fixed_dictionaries(
    {
        "to": st.integers(0, 4),
        "days_ahead": st.sampled_from([0, 0, 0, 1]),
        "retried": st.booleans(),
        "stays": st.sampled_from([False, False, True]),  # if it is retried: it has no success
        "inspection": st.booleans(),
        "minutes_ago": st.sampled_from([0, 0, 0, 1, 90]),
        "duration_ms": st.sampled_from([0, 1, 2, 3, 40, 5_000, 60_000]),
        "status": st.sampled_from([200, 204]),
        "body": st.sampled_from([b"", b"ok", b"x" * LONG, b"x" * (LONG + 1)]),
        "headers": st.sampled_from([(), ((b"a", b"b"),), ((b"a", b"b"), (b"c", b"d" * 40))]),
        "transform_version": st.sampled_from([None, None, 3]),
        "truncated": st.sampled_from([False, False, True]),
        "logs": st.sampled_from([None, None, b"[]"]),
    }
)

alike = st.builds(
    lambda end, number: [{**end, "to": to} for to in range(number)], ends, st.integers(1, 5)
)


class Arrays(Arguments):
    """Sends the values of each column as an array, even if a single value would be enough because all
    values of the column are equal."""

    def shared(self, values: list[Any]) -> None:
        self.uniform = False
        self._wide += (values, None)


def general(way: str, patch: pytest.MonkeyPatch) -> None:
    if way == WAYS[0]:
        patch.setattr(outcomes, "are_successes", lambda _: False)
    elif way == WAYS[1]:
        patch.setattr(successes, "INLINE_BYTES", -1)
    elif way == WAYS[2]:
        patch.setattr(successes, "_ONE_IN", 1 << 30)
    elif way == WAYS[3]:
        patch.setattr(outcomes, "_table", lambda _: "deliveries")
    else:
        patch.setattr(outcomes, "Arguments", Arrays)


async def settled(
    world: World, group: Sequence[dict[str, Any]], now: float
) -> tuple[list[Delivery], list[str]]:
    to = [identity.other() for _ in range(5)]
    made: list[Delivery] = []
    for end in group:
        of = event(id=shifted(identity.event(), end["days_ahead"] * DAY_MS))
        made += await world.accept(of, to=[to[end["to"]]])
    again = [each for each, end in zip(made, group, strict=True) if end["retried"]]
    if again:
        failed = [failure(each, started_at=now, next_attempt_at=now + 5) for each in again]
        await world.settle.settle(settle_group(failed))
    ended = [
        _success(each, end, now)
        for each, end in zip(made, group, strict=True)
        if not (end["retried"] and end["stays"])
    ]
    await world.settle.settle(settle_group(ended))
    return made, to


def _success(of: Delivery, end: dict[str, Any], now: float) -> Settlement:
    of.origin = DeliveryOrigin.INSPECTION if end["inspection"] else DeliveryOrigin.NORMAL
    same = {name: end[name] for name in ("duration_ms", "status", "body", "headers")}
    made = success(of, started_at=now - 60 * end["minutes_ago"], **same)
    assert made.attempt is not None
    more = {name: end[name] for name in ("transform_version", "truncated", "logs")}
    outcome = structs.replace(made.attempt.outcome, **more)
    return structs.replace(made, attempt=structs.replace(made.attempt, outcome=outcome))


async def seen(world: World, made: Sequence[Delivery], to: Sequence[str]) -> Any:
    """Return the rows of the deliveries, attempts and counters. The id of a delivery is replaced by its
    index in `made`, and the id of a destination by its index in `to`."""
    place = {each.id: str(number) for number, each in enumerate(made)}
    place |= {each: str(number) for number, each in enumerate(to)}
    found = []
    for table, key in (
        ("deliveries", "id"), ("attempt_log", "delivery"), ("destination_minutes", "destination")
    ):  # fmt: skip
        rows = [row for row in await world.rows(table) if str(row[key]) in place]
        found.append(
            sorted(
                (
                    [place[str(row[key])], *((n, row[n]) for n in sorted(row) if compared(n))]
                    for row in rows
                ),
                key=repr,
            )
        )
    return found


def compared(name: str) -> bool:
    return name not in KEPT_ELSEWHERE and not name.startswith(("only_", "created_at"))


@pytest.mark.parametrize("way", WAYS)
async def test_both_ways_leave_the_same(way: str, world: World) -> None:
    async def compare(group: list[dict[str, Any]]) -> None:
        now = time.time()
        short = await seen(world, *await settled(world, group, now))
        with pytest.MonkeyPatch.context() as patch:
            general(way, patch)
            long = await seen(world, *await settled(world, group, now))
        assert short == long

    @given(group=st.lists(ends, min_size=1, max_size=6) | alike)
    @settings(max_examples=25, deadline=None)
    def every(group: list[dict[str, Any]]) -> None:
        trio.from_thread.run(compare, group)

    # Hypothesis is not async, and the world belongs to this loop.
    await trio.to_thread.run_sync(every)
