"""The cache of compiled routes by environment, event type and customer, bounded by routes and rules.

Clients choose event types, so an environment that fills its share evicts its own oldest routes. Nothing
here awaits.
"""

from typing import Generic, TypeVar

R = TypeVar("R")
Key = tuple[int, str, str | None]

# The bounds of the cache, for all environments and for one: rules, and one more for each route. Some 15
# MB in all.
MOST = 100_000
MOST_EACH = 25_000


class RouteCache(Generic[R]):
    """Owner of the routes, each under the version that it was made of."""

    __slots__ = ("_of", "_weights", "found", "weight")

    def __init__(self) -> None:
        self.found: dict[Key, tuple[int, R]] = {}  # for the look-up of each event
        self.weight = 0
        self._of: dict[
            int, dict[Key, int]
        ] = {}  # by environment, the oldest first: each route's weight
        self._weights: dict[int, int] = {}

    def put(self, key: Key, version: int, route: R, rules: int) -> None:
        """Keep a route that was made of so many rules, unless it alone is more than its share."""
        environment = key[0]
        if key in self.found:
            self._drop(key)
        weight = rules + 1
        if weight > MOST_EACH:
            return
        while self._weights.get(environment, 0) + weight > MOST_EACH:
            self._drop(next(iter(self._of[environment])))
        while self.weight + weight > MOST:
            self._displace(environment)
        self.found[key] = version, route
        self._of.setdefault(environment, {})[key] = weight
        self._weights[environment] = self._weights.get(environment, 0) + weight
        self.weight += weight

    def _displace(self, environment: int) -> None:
        """Drop the oldest route of the environment that needs room, if it has more than an equal part of
        all. Otherwise drop one of the environment whose turn it is."""
        if self._weights.get(environment, 0) * len(self._of) <= MOST:
            environment = next(iter(self._of))
        routes = self._of.pop(environment)
        self._of[environment] = routes
        self._drop(next(iter(routes)))

    def _drop(self, key: Key) -> None:
        environment = key[0]
        del self.found[key]
        routes = self._of[environment]
        weight = routes.pop(key)
        self.weight -= weight
        self._weights[environment] -= weight
        if not routes:
            del self._of[environment], self._weights[environment]
