"""The Quart application as plain ASGI, for another server: `hypercorn api.asgi:app -k trio`, one worker.

The other server must enforce the limits that the door otherwise enforces (`docs/security.md`).
"""

from api.composition.plain import PlainServer

app = PlainServer()
