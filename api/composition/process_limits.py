"""The thresholds of a server's garbage collector, for short passes."""

import gc

# The hot path creates hardly any reference cycles; requests and connections leave a few. Examining an
# object costs 0.3 to 0.9 us, mostly because its memory is not in the processor's cache. A pass takes 1 to
# 2 ms for the youngest generation, and some 4 ms for the first two.
#
# The interpreter's defaults (700, 10, 10) cost 4 % of all CPU. With thresholds twenty times those below,
# a pass blocked the event loop for 20 to 40 ms, and for most of a second after ten thousand destinations
# became busy (a million new objects). Many short passes cost no more in total than a few long ones.
YOUNG = 2_500  # net allocations between two passes
TIMES_YOUNG = 0  # every other pass also covers the second generation
# A full pass runs after some five million net allocations, if the surviving objects have grown by a
# quarter. It frees cycles that earlier passes found in use. The worst clients leave 200 such objects a
# second.
TIMES_ELDERS = 1_000


def collect_in_small_lots() -> None:
    """Exclude all present objects from collection, and collect later ones in short passes."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, TIMES_YOUNG, TIMES_ELDERS)
