"""The Quart application as plain ASGI, for another server: `hypercorn api.asgi:app -k trio`, one worker.

Settings come from the environment, as for `angarium serve`. The engine starts and stops with the
application (its lifespan). What the door holds (`docs/security.md`), that server has to hold.
"""

from api.composition.plain import PlainServer

app = PlainServer()
