"""The share of a pass of the reactor that each connection of HTTP/2 has for its work.

Who works alone has much of a pass, since other tasks run between two passes; of many each has little.
Nothing here does I/O.
"""

# In units of `api.door.http2_frames`, about 25 us: of all connections in a pass, some 6 ms.
PASS_COST = 256
LEAST_COST = 8  # of one: a request or two, as a connection of HTTP/1.1 has done in a pass
MOST_COST = 64  # of one: a dozen requests, 1.5 ms


class Turns:
    """Owner: the door."""

    __slots__ = ("_at_work", "_pass", "_share")

    def __init__(self) -> None:
        self._pass = -1
        self._at_work = 0  # connections that had a turn in this pass so far
        self._share = MOST_COST

    def begin(self, number: int) -> int:
        """Return what the next connection may have done in the pass `number`: by how many there were in
        the one before."""
        if number != self._pass:
            self._share = max(LEAST_COST, min(MOST_COST, PASS_COST // max(1, self._at_work)))
            self._pass, self._at_work = number, 0
        self._at_work += 1
        return self._share
