"""The limit on a client's pauses during a streamed body."""

from dataclasses import replace

from api.door.limits import LIMITS
from api.door.passing import Progress

SOME = replace(LIMITS, body_s=30.0, stream_grace_s=60.0, stream_floor=2_000)


def streamed() -> Progress:
    progress = Progress(SOME)
    progress.stream()
    return progress


def test_all_of_a_body_has_to_come_in_the_time_that_it_has() -> None:
    progress = Progress(SOME)
    assert progress.wait(0.0) == 30.0
    progress.came(1, 12.0)
    assert progress.wait(100.0) == 18.0
    progress.came(1_000_000, 117.0)
    assert progress.wait(1_000.0) == 1.0
    assert progress.wait(1_002.0) == 0.0


def test_each_part_gives_the_client_as_long_again() -> None:
    progress = streamed()
    now = 1_000.0
    for _ in range(100):
        assert progress.wait(now) == 30.0
        now += 29.0
        progress.came(64_000, now)


def test_who_sends_next_to_nothing_has_the_grace_and_no_more() -> None:
    progress = streamed()
    now = 1_000.0
    assert progress.wait(now) == 30.0
    progress.came(1, now + 29)
    assert progress.wait(now + 29) == 30.0
    progress.came(1, now + 58)
    assert 2.0 < progress.wait(now + 58) < 2.01
    assert progress.wait(now + 70) == 0.0


def test_the_time_of_the_application_is_not_the_clients() -> None:
    progress = streamed()
    progress.wait(0.0)
    progress.came(1, 10.0)
    assert progress.wait(5_000.0) == 30.0  # 10 s of its time were used
    progress.came(1, 5_029.0)
    assert 20.9 < progress.wait(9_000.0) < 21.1


def test_what_comes_at_the_floor_goes_on_for_ever() -> None:
    progress = streamed()
    now = 0.0
    for _ in range(10_000):
        assert progress.wait(now) > 9.0
        now += 10.0
        progress.came(20_000, now)
