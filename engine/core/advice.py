"""How many requests in flight a destination needs: Little's law, with room for chance.

What is in flight on average is what comes a second times what an attempt takes. Attempts do not come
evenly: with twice the square root of that on top (the staffing rule of queues with many servers) some two
or three in a hundred find no place free.
"""

import math

from engine.core.destination import MOST_CONCURRENCY

ROOM = 2.0  # square roots of the load on top of it
LEAST_ATTEMPTS = (
    20  # in the minutes that are counted; fewer say too little of what an attempt takes
)


def suggested_concurrency(
    attempts: int, demand_per_s: float, service_s: float, most: int = MOST_CONCURRENCY
) -> int | None:
    """Return the least concurrency that keeps up, 1 to `most`; None after too few attempts."""
    if attempts < LEAST_ATTEMPTS:
        return None
    load = demand_per_s * service_s
    return min(most, max(1, math.ceil(load + ROOM * math.sqrt(load))))
