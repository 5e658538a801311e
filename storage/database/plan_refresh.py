"""The renewal of a connection's query plans: a plan made for a small table is slow on a large table.

PostgreSQL keeps a generic plan until the tables' statistics change. A plan made for an empty partition
reads the whole partition. If the partition has 100,000 rows, this takes 3 ms for each event. To make a
new plan takes 1 to 2 ms.
"""

import trio

from storage.database.connection import Connection

KNOWN = 200  # statements, as many as a connection keeps prepared
FIRST_S = 0.1  # a new partition grows by some thousand rows in this time, at full rate
LONGEST_S = 60.0


class PlanRefresh:
    """The timer that discards one connection's query plans. Each pause between two discards is twice as
    long as the previous pause, up to LONGEST_S."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._known: dict[str, None] = {}
        self._pause_s = FIRST_S
        self._remake_at = 0.0

    async def keep(self, sql: str) -> None:
        """Call this before each statement. If the present pause between two discards has ended, discard
        the connection's plans, and begin the next pause. But if the statement is new to the connection,
        discard nothing, and begin a pause of FIRST_S in place of the present pause."""
        now = trio.current_time()
        if sql not in self._known:
            self._known[sql] = None
            if len(self._known) > KNOWN:
                del self._known[next(iter(self._known))]
            self._pause_s = FIRST_S
            self._remake_at = now + FIRST_S
        elif now >= self._remake_at:
            self._pause_s = min(2 * self._pause_s, LONGEST_S)
            self._remake_at = now + self._pause_s
            await self._connection.execute("DISCARD PLANS")
