"""The limits of a server's own process: a garbage collector whose passes are short."""

import gc

# Hardly anything on the hot path is cyclic: the collector is for what requests and connections leave now
# and then. Looking at an object costs 0.3 to 0.9 us, most of it for memory that the processor has not at
# hand: a millisecond or two for the youngest, some 4 ms with those that outlived a look. The
# interpreter's own thresholds (700, 10, 10) cost 4 % of all CPU. Twenty times ours held the loop for 20
# to 40 ms each time, and for most of a second where a million objects had come to stay: ten thousand
# destinations that became busy. Smaller looks cost no more, since only what is made and stays counts:
# 40,000 events at the full rate bring about some twenty of them.
YOUNG = 2_500  # objects made and not freed again
# Looks at the youngest, past which the next one is at their elders too: each other one is.
TIMES_YOUNG = 0
# Past some five million more, and where what stays has grown by a quarter, everything is looked at: for
# cycles that were still held when they were young, 200 objects a second where clients do their worst.
TIMES_ELDERS = 1_000


def collect_in_small_lots() -> None:
    """Freeze all present objects for the collector, and let it collect later ones in small lots."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(YOUNG, TIMES_YOUNG, TIMES_ELDERS)
