"""A cache that several owners share: an owner that fills it displaces only its own entries."""

from engine.runtime.fair_cache import FairCache


def test_an_owner_that_fills_the_cache_displaces_its_own() -> None:
    cache: FairCache[str, str, int] = FairCache(100, 100)
    cache.put("other", "kept", 1)
    for number in range(1_000):
        cache.put("flood", f"f{number}", number)
        assert cache.weight <= 100
    assert cache.found["kept"] == 1
    assert len(cache.found) == 100, "nobody else needs the room"


def test_newcomers_displace_owners_with_more_than_their_part_alone() -> None:
    """The full cache evicts entries of owners that have more than their share. An eviction from each
    owner in turn would also hit owners with a single entry."""
    cache: FairCache[str, str, int] = FairCache(100, 100)
    for number in range(1_000):
        cache.put("flood", f"f{number}", number)
    for number in range(40):
        cache.put(f"owner {number}", f"o{number}", number)
        cache.put("flood", f"g{number}", number)
    assert {f"o{number}" for number in range(40)} <= set(cache.found)


def test_what_was_used_last_stays_longest() -> None:
    cache: FairCache[str, str, int] = FairCache(3, 3)
    for name in "abc":
        cache.put("w", name, 0)
    cache.used("w", "a")
    cache.put("w", "d", 0)
    assert set(cache.found) == {"a", "c", "d"}
    cache.drop("w", "a")
    assert (cache.weight, set(cache.found)) == (2, {"c", "d"})
