"""Short histories about tokens and about destinations that fail for long, written by hand. Some keep all
promises. Each of the others breaks one promise."""

from typing import Any

from tests.sim.telling import NOW, Telling, a_telling
from tests.sim.told import LATE, events, switch_off
from tests.sim.trace import TokenAsked, TokenRefused, TokenTold

PATIENCE_S = 150
LIFE_S = 30.0


def fetch(telling: Telling, number: int, at: float, token: str, lasts_s: float = 0.1) -> None:
    """An empty `token`: the fetch failed."""
    telling.tell(TokenAsked(NOW + at, number, 1, 0))
    telling.tell(TokenTold(NOW + at + lasts_s, number, token, LIFE_S if token else 0.0))


def with_tokens(*tokens: str, after_s: float = 1.0) -> Telling:
    """Requests arrive one after another, each with the next token of `tokens`. The interval between two
    requests is `after_s`."""
    telling = a_telling(endpoint=0)
    fetch(telling, 1, LATE, "Bearer a")
    for number, token in enumerate(tokens):
        [delivery] = events(telling, f"e{number}")
        telling.send(LATE + 5 + number * after_s, delivery, token=token)
    return telling


def refused(*later: str, status: int = 200) -> Telling:
    """A receiver refuses the token of an attempt. The attempt then repeats its request with the first
    token of `later`. For each other token of `later`, an attempt of another delivery follows."""
    telling = with_tokens()
    fetch(telling, 2, LATE + 4.8, "Bearer b")
    first, *others = [events(telling, f"e{number}")[0] for number in range(len(later))]
    telling.tell(TokenRefused(NOW + LATE + 4.7, 1, "d1", first, 1, "Bearer a", True))
    telling.send(LATE + 5, first, status, token=later[0], waited_s=0.5)
    for number, (delivery, token) in enumerate(zip(others, later[1:], strict=True), 1):
        telling.send(LATE + 5 + number, delivery, token=token)
    return telling


def fetched(*after_s: float, token: str = "Bearer a", lasts_s: float = 0.1) -> Telling:
    """A process fetches several tokens one after another. `after_s`: the times between the beginnings of
    successive fetches."""
    telling = with_tokens()
    at = LATE + 10
    fetch(telling, 2, at, token, lasts_s)
    for number, wait_s in enumerate(after_s, 3):
        at += wait_s
        fetch(telling, number, at, "Bearer b", lasts_s)
    return telling


def sent_to_who_was_disabled(waited_s: float) -> Telling:
    """A request waits for its token. Meanwhile a caller disables the destination."""
    telling = a_telling(endpoint=0)
    [one] = events(telling, "a")
    switch_off(telling, LATE + 2, endpoint=0)
    fetch(telling, 1, LATE + 1, "Bearer a", 40.0)
    telling.send(LATE + 45, one, token="Bearer a", waited_s=waited_s)
    return telling


def failing(disabled_after_s: float | None, patience_s: int | None = PATIENCE_S) -> Telling:
    """A delivery fails ten times about once a second, and then about every twenty seconds. Its
    destination is disabled `disabled_after_s` after the tenth failure. If `disabled_after_s` is None, the
    destination is never disabled."""
    schedule_s = (1,) * 10 + (20,) * 12
    settings: dict[str, Any] = {
        "disable_after_s": patience_s,
        "schedule_s": schedule_s,
        "ordering": "NONE",
    }
    telling = a_telling(**settings)
    [one] = events(telling, "a")
    at = tenth_at = LATE + 2
    for number in range(22):
        if disabled_after_s is not None and number >= 10 and at > tenth_at + disabled_after_s:
            break
        telling.send(at, one, 500, lasts_s=0.1)
        tenth_at = at + 0.1 if number == 9 else tenth_at
        at += 1.3 if number < 10 else 24.5
    if disabled_after_s is None:
        telling.send(at, one)
    else:
        telling.destination(tenth_at + disabled_after_s, status="DISABLED", **settings)
        telling.backlog.append("d1")
    return telling


def recovered_and_disabled() -> Telling:
    telling = failing(PATIENCE_S + 5)
    [two] = events(telling, "b")
    telling.send(LATE + 60, two)
    return telling
