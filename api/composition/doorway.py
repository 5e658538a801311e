"""The composition of the front door."""

from collections.abc import Callable

from api.admission import AdmissionControl
from api.app import make_app
from api.budget import BodyBudget
from api.composition.control import ControlParts
from api.composition.control_plane import services_of
from api.composition.foundation import report
from api.door.front import FrontDoor
from api.door.limits import limits_for
from api.door.request_relay import RequestRelay
from api.heads import Heads
from api.ingestion import Ingestion
from api.table import docs_html
from api.web import web_files
from engine.control.console import session_reader
from engine.ingest.ingest import Ingest
from engine.ingest.uploads import Uploads
from engine.submission.key_lookup import KeyLookup
from engine.submission.submission import logged
from storage.intake.store import PostgresClaims


def make_pages() -> None:
    """Make the pages before the first request asks for them. Making the pages takes 150 ms of CPU time.
    During a request, this would delay the requests of all tenants."""
    docs_html()
    web_files()


async def pages_made() -> None:
    """Call `make_pages` in a task, while the embedded PostgreSQL starts."""
    make_pages()


def door_of(server: ControlParts, unready: Callable[[], list[str]], *, listens: bool) -> FrontDoor:
    """Return the door of a server. `unready` returns the reasons why the server cannot take work."""
    make_pages()
    settings, models, now = server.settings, server.models, server.clock.now
    admission = AdmissionControl(
        models,
        now,
        server.plans,
        lambda: server.freshness.stale,
        sessions=session_reader(server.tokens, server.console),
        last_use=server.last_use.seen,
    )
    submit = logged(server.intake.submit)
    keys = KeyLookup(PostgresClaims(server.bridge.pool), now)
    ingest = Ingest(
        server.router,
        submit,
        server.identity,
        server.background.spawn,
        keys,
        server.carrying.attaching,
        server.intake.senders,
    )
    uploads = Uploads(
        ingest,
        keys,
        submit,
        server.identity,
        server.filing.store,
        server.filing.depot,
        server.background.spawn,
    )
    bodies = BodyBudget(settings.body_bytes, settings.body_bytes_workspace)
    ingestion = Ingestion(
        admission,
        models,
        ingest if server.tracing is None else server.tracing.ingest(ingest),
        bodies,
        server.hops,
    )
    request_relay: RequestRelay | None = None
    if server.links is not None:
        request_relay = RequestRelay(
            server.part,
            admission.credential_of,
            (server.part_links or server.links).dial,
            server.changes.catch_up,
            limits_for(settings.descriptor_share_inbound).connections // 2 or 1,
            moved=None if server.part_links is None else server.part_links.moved,
        )
    services = services_of(server, admission, ingestion, ingest.judge, uploads, unready)
    app = make_app(services)
    return FrontDoor(
        settings,
        server.reactor,
        server.timers,
        ingestion,
        app,
        report,
        heads=Heads(services, app.url_map),
        listens=listens,
        request_relay=request_relay,
        passage=None if server.links is None else server.links.passage,
    )
