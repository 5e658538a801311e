"""The feed of outcomes to the windows in which people watch deliveries live."""

from typing import Any

from engine.core.records import Settlement
from engine.core.vocabulary import DeliveryOrigin, DeliveryStatus
from engine.recording.feed import KEPT, Feed
from tests.core.making import a_delivery


def settled(*, dead: bool = False, **fields: Any) -> Settlement:
    made = a_delivery(1, **fields)
    return Settlement(made, DeliveryStatus.DELIVERED, None, 0, dead_lettered=dead)


def test_a_window_keeps_the_first_outcomes_and_counts_the_rest() -> None:
    feed = Feed()
    one = settled()
    window = feed.open(one.delivery.event.environment)
    feed.settled([one] * (KEPT + 3))
    look = window.look()
    assert (len(look.outcomes), look.omitted) == (KEPT, 3)
    assert window.look().outcomes == []


def test_every_death_is_counted_also_when_its_outcome_is_omitted() -> None:
    feed = Feed()
    dead = settled(dead=True)
    window = feed.open(dead.delivery.event.environment)
    feed.settled([dead] * (KEPT + 1))
    assert window.look().dead == {dead.delivery.destination: KEPT + 1}


def test_a_window_that_keeps_no_outcomes_still_counts_deaths() -> None:
    feed = Feed()
    dead = settled(dead=True)
    window = feed.open(dead.delivery.event.environment)
    window.keeps = False
    feed.settled([settled(), dead])
    look = window.look()
    assert (look.outcomes, look.omitted) == ([], 0)
    assert look.dead == {dead.delivery.destination: 1}


def test_a_window_has_outcomes_of_its_environment_that_pass_its_filter() -> None:
    feed = Feed()
    one = settled()
    environment = one.delivery.event.environment
    windows = [
        feed.open(environment),
        feed.open(environment, lambda delivery: False),
        feed.open(environment + 1),
    ]
    feed.settled([one])
    assert [len(window.look().outcomes) for window in windows] == [1, 0, 0]


def test_an_inspection_is_in_no_window() -> None:
    feed = Feed()
    sample = settled(origin=DeliveryOrigin.INSPECTION)
    window = feed.open(sample.delivery.event.environment)
    feed.settled([sample])
    assert window.look().outcomes == []


def test_a_feed_is_followed_until_its_last_window_is_closed() -> None:
    feed = Feed()
    followed = [feed.followed]
    windows = [feed.open(1), feed.open(1)]
    for window in windows:
        followed.append(feed.followed)
        feed.close(window)
    assert [*followed, feed.followed] == [False, True, True, False]
