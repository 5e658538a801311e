"""The cache of compiled routes. The total weight of the routes is bounded. An environment that sends a
flood of event types displaces only its own routes."""

import pytest

from engine.routing import router
from engine.routing.router import RouteCache


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch) -> RouteCache[str]:
    monkeypatch.setattr(router, "MOST", 100)
    monkeypatch.setattr(router, "MOST_EACH", 40)
    return RouteCache()


def test_an_environment_displaces_its_own_oldest_routes_first(cache: RouteCache[str]) -> None:
    cache.put((2, "kept", None), 1, "route", 3)
    for number in range(1_000):
        cache.put((1, f"t{number}", None), 1, "route", 3)
        assert cache.weight <= 44
    assert (2, "kept", None) in cache.found
    assert {key[1] for key in cache.found if key[0] == 1} == {f"t{n}" for n in range(990, 1_000)}


def test_all_environments_together_have_a_bound(cache: RouteCache[str]) -> None:
    for number in range(1_000):
        cache.put((number % 7, f"t{number}", None), 1, "route", number % 5)
        assert cache.weight <= 100
    assert {key[0] for key in cache.found} == set(range(7))


def test_floods_of_several_environments_displace_nobody_elses_routes(
    cache: RouteCache[str],
) -> None:
    """The full cache evicts routes of the environments with many routes. An eviction from each
    environment in turn would also hit environments with few routes."""
    for environment in range(10, 20):
        cache.put((environment, "kept", None), 1, "route", 1)
    for number in range(1_000):
        cache.put((number % 4, f"t{number}", None), 1, "route", 0)
        assert cache.weight <= 100
    assert {key[0] for key in cache.found} == {0, 1, 2, 3, *range(10, 20)}


def test_a_route_that_is_compiled_anew_takes_the_place_of_the_former(
    cache: RouteCache[str],
) -> None:
    for version in range(50):
        cache.put((1, "t", "c"), version, f"route {version}", 9)
    assert cache.found == {(1, "t", "c"): (49, "route 49")}
    assert cache.weight == 10


def test_a_route_that_is_more_than_an_environment_may_keep_is_not_kept(
    cache: RouteCache[str],
) -> None:
    cache.put((1, "t", None), 1, "route", 40)
    assert (cache.found, cache.weight) == ({}, 0)
