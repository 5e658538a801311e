"""The preview's sets of rules that were seen grow at different times."""

import sys
from collections import defaultdict

from engine.core.pattern_index import SLICE_STEPS
from engine.routing.preview import SHARDS, shard_of

# What may be copied where sets grow within one slice; the sets of equal size copied all of their ids.
COPIED_BYTES = 8 * 1024 * 1024


def test_the_sets_of_seen_rules_do_not_grow_in_one_slice() -> None:
    seen: defaultdict[int, set[str]] = defaultdict(set)
    sizes: defaultdict[int, int] = defaultdict(int)
    most = 0
    for start in range(0, 1_000_000, SLICE_STEPS):
        for number in range(start, start + SLICE_STEPS):
            identifier = f"{number:032x}"
            seen[shard_of(identifier)].add(identifier)
        copied = 0
        for shard, known in seen.items():
            size = sys.getsizeof(known)
            if size != sizes[shard]:
                copied += size
                sizes[shard] = size
        most = max(most, copied)
    assert len(seen) == SHARDS
    assert most <= COPIED_BYTES, most
