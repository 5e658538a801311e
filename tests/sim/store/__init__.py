"""PostgreSQL as the engine knows it, in memory: every port that a process needs, over one `Database`.

`Database()` is the durable state, which outlives every process. `Database.connect(process, gateway)`
gives the `Stores` of one process: `.intake .settle .backlog .requeue .dead .jobs .replays .destinations
.rules .configuration .claims`, each the port of that name, and `.ownership`, its right to write. A
process begins with `await stores.take()`. Every statement is one call of the gateway, whose work checks
the epoch and does everything or nothing. `Database.rows()` is what an observer sees at the end.

An event whose payload has `POISON` in it is refused, and so is an outcome whose body has it.
"""

from tests.sim.store.database import Database, Looks, Stores
from tests.sim.store.intake import POISON
from tests.sim.store.tables import Tables

__all__ = ["POISON", "Database", "Looks", "Stores", "Tables"]
