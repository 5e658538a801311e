"""The Quart application as plain ASGI, for another server: `hypercorn api.asgi:app -k trio`, one worker.

Settings come from the environment, as for `angarium serve`. The engine starts and stops with the
application (its lifespan). The other server must enforce the limits that the door otherwise enforces
(`docs/security.md`).
"""

from api.composition.plain import PlainServer

app = PlainServer()
