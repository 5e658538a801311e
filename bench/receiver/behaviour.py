"""The behaviour of a receiver: delays, failures and hanging."""

import math
import random
from typing import Any

import msgspec
from msgspec import Struct

LONGEST_S = 60.0  # the longest drawn latency: a heavy tail could exceed a run


class Latency(Struct, frozen=True, forbid_unknown_fields=True):
    """The delay of an answer, by `kind`.

    `fixed`: the delay is `ms`. `lognormal`: `ms` is the median, and `sigma` the standard deviation of the
    delay's logarithm. `pareto`: `ms` is the minimum, and `alpha` the exponent of the tail; a smaller
    `alpha` gives more long delays.
    """

    kind: str = "none"
    ms: float = 0.0
    sigma: float = 1.0
    alpha: float = 1.5

    def __post_init__(self) -> None:
        if self.kind not in ("none", "fixed", "lognormal", "pareto"):
            raise ValueError(f"unknown kind of latency: {self.kind!r}")
        if self.ms < 0 or self.sigma < 0 or self.alpha <= 0:
            raise ValueError("ms and sigma must be 0 or more, alpha above 0")

    def draw_s(self, chance: random.Random) -> float:
        """Return seconds until an answer."""
        if self.kind == "none" or not self.ms:
            return 0.0
        least = self.ms / 1000
        if self.kind == "lognormal":
            return min(LONGEST_S, chance.lognormvariate(math.log(least), self.sigma))
        if self.kind == "pareto":
            return min(LONGEST_S, least * chance.paretovariate(self.alpha))
        return least


class Flap(Struct, frozen=True, forbid_unknown_fields=True):
    """The phases of a flapping receiver, in seconds. From the reset on, the receiver is well, then fails,
    then hangs. After that, the phases begin again."""

    well_s: float
    failing_s: float = 0.0
    hanging_s: float = 0.0

    def __post_init__(self) -> None:
        if min(self.well_s, self.failing_s, self.hanging_s) < 0 or self.whole_s <= 0:
            raise ValueError("the seconds of a flap must be 0 or more, and their sum above 0")

    @property
    def whole_s(self) -> float:
        return self.well_s + self.failing_s + self.hanging_s


class Answer(Struct, frozen=True):
    """The answer to a request. The receiver sends `status` after `after_s` seconds. If `after_s` is
    infinite, the receiver never answers. `hung`: if True, the receiver records the time of the answer as
    the time of the request's arrival. Otherwise it records the time at which it received the request."""

    status: int = 200
    after_s: float = 0.0
    hung: bool = False


WELL = Answer()
NEVER = Answer(after_s=math.inf)


class Behaviour(Struct, frozen=True, forbid_unknown_fields=True, rename="camel"):
    """The behaviour of a receiver. `paths` has other behaviours by prefix of the path; the longest prefix
    of a request's path decides.

    `fail`: the share of requests that get `fail_status`. `fail_every`: every n-th request gets
    `fail_status`. `dead`: the receiver accepts requests and never answers. `flap`: the receiver is well,
    fails and hangs in turns. Requests of a hanging phase are answered when the receiver is well again.
    `places`: the most requests of one path that are served at the same time; 0: no limit.
    """

    latency: Latency = Latency()
    fail: float = 0.0
    fail_every: int = 0
    fail_status: int = 500
    flap: Flap | None = None
    dead: bool = False
    places: int = 0
    paths: dict[str, "Behaviour"] = {}
    seed: int = 7

    def __post_init__(self) -> None:
        if not 0 <= self.fail <= 1:
            raise ValueError("fail must be a share from 0 to 1")
        if self.fail_every < 0 or self.places < 0:
            raise ValueError("failEvery and places must not be below 0")
        if not 400 <= self.fail_status <= 599:
            raise ValueError("failStatus must be from 400 to 599")
        if any(each.paths for each in self.paths.values()):
            raise ValueError("a behaviour in paths must not have paths")

    def of(self, path: str) -> "Behaviour":
        """Return the behaviour of a path."""
        found = [prefix for prefix in self.paths if path.startswith(prefix)]
        return self.paths[max(found, key=len)] if found else self

    @property
    def plain(self) -> bool:
        """True if every request gets a success at once."""
        return not (
            self.fail
            or self.fail_every
            or self.flap
            or self.dead
            or (self.latency.kind != "none" and self.latency.ms)
        )

    def answer(self, since_s: float, number: int, chance: random.Random) -> Answer:
        """Return the answer to the `number`-th request, which arrives `since_s` seconds after the
        reset."""
        if self.dead:
            return NEVER
        if self.flap is not None:
            at = since_s % self.flap.whole_s
            if at >= self.flap.well_s + self.flap.failing_s:
                return Answer(after_s=self.flap.whole_s - at, hung=True)
            if at >= self.flap.well_s:
                return Answer(self.fail_status)
        failing = bool(self.fail) and chance.random() < self.fail
        if failing or (self.fail_every and number % self.fail_every == 0):
            return Answer(self.fail_status, self.latency.draw_s(chance))
        return Answer(after_s=self.latency.draw_s(chance))


def read(body: bytes) -> Behaviour:
    """Return the behaviour that JSON describes. Raises ValueError."""
    try:
        return msgspec.json.decode(body or b"{}", type=Behaviour)
    except msgspec.DecodeError as error:
        raise ValueError(str(error)) from None


def written(behaviour: dict[str, Any]) -> bytes:
    """Return a behaviour as JSON. Raises ValueError if it is invalid."""
    body = msgspec.json.encode(behaviour)
    read(body)
    return body
