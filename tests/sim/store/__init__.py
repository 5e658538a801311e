"""The simulated PostgreSQL, in memory: every port that a process needs, over one `Database`.

`Database()` is the durable state, which outlives every process. `Database.connect(process, gateway)`
returns the `Stores` of one process. The process begins with `await stores.take()`. Every statement is one
call of the gateway, which checks the epoch. The statement does everything or nothing.

The database refuses an event whose payload contains `POISON`, and an outcome whose body contains
`POISON`.
"""

from tests.sim.store.database import Database, Looks, Stores
from tests.sim.store.intake import POISON
from tests.sim.store.tables import Tables

__all__ = ["POISON", "Database", "Looks", "Stores", "Tables"]
