"""The front door with what stands behind it: the application, and the judgement of heads before it."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from api.app import make_app
from api.composition.control_plane import services_of
from api.door.front import FrontDoor
from api.gate import Gate
from api.heads import Heads
from api.ingestion import Ingestion
from api.table import docs_html

if TYPE_CHECKING:
    from api.composition import Server


def door_of(
    server: "Server", gate: Gate, ingestion: Ingestion, on_error: Callable[[Exception], None]
) -> FrontDoor:
    """Return the door of a server."""
    # The pages, before anybody asks for them. They take 150 ms of CPU: on the loop or in a thread, the
    # first caller's request would hold up every tenant.
    docs_html()
    services = services_of(server, gate, ingestion)
    app = make_app(services)
    return FrontDoor(
        server.settings,
        server.reactor,
        server.timers,
        ingestion,
        app,
        on_error,
        heads=Heads(services, app.url_map),
        listens=server.listens,
    )
