"""All promises by name, and the breaches of them in a history."""

from collections.abc import Callable, Iterator

from tests.sim.oracle import (
    acceptance,
    arrivals,
    attempts,
    backlog,
    circuits,
    crowds,
    ends,
    holds,
    keys,
    operators,
    order,
    owners,
    patience,
    pauses,
    replays,
    routing,
    states,
    stops,
    sums,
    tokens,
)
from tests.sim.oracle.sight import Sight
from tests.sim.trace import History

Promise = Callable[[Sight], Iterator[str]]

PROMISES: dict[str, Promise] = {
    "accepted is durable": acceptance.judge,
    "one event a key": keys.judge,
    "routed by the rules": routing.judge,
    "sent what is there": arrivals.judge,
    "all comes to its end": ends.judge,
    "in order": order.judge,
    "attempts by schedule": attempts.judge,
    "nothing to who is held": holds.judge,
    "Retry-After": pauses.judge,
    "sums equal rows": sums.judge,
    "replays": replays.judge,
    "one writer": owners.judge,
    "backlog rows": backlog.judge,
    "concurrency and rate": crowds.judge,
    "circuit": circuits.judge,
    "operators' work": operators.judge,
    "states": states.judge,
    "stopped in order": stops.judge,
    "tokens": tokens.judge,
    "patience with failures": patience.judge,
}
MOST_OF_A_PROMISE = 20  # sentences about one promise


def violations(history: History) -> list[str]:
    """Return a sentence for each breach. Each sentence begins with the name of the broken promise."""
    found = [f"simulation: {each}" for each in history.broken]
    sight = Sight(history)
    for name, judge in PROMISES.items():
        for number, sentence in enumerate(judge(sight)):
            if number == MOST_OF_A_PROMISE:
                break
            found.append(f"{name}: {sentence}")
    return found
