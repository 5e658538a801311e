"""Query strings and cursors: each is either read, or refused with a reason. The cursor of one list is
refused for any other list."""

import json
from urllib.parse import unquote_to_bytes

from api.admission import AdmissionControl
from api.budget import BodyBudget
from api.door.framing import MAX_HEAD
from api.envelope import envelope, request_id_of
from api.ingestion import Ingestion
from api.pages import cursor_of, position
from api.queries import Query, parameters, read_query
from api.resources.analytics import AnalyticsQuery
from api.resources.audit import AuditQuery
from api.resources.dlq import DlqQuery
from api.resources.files import FileQuery
from api.resources.replays import ReplayQuery
from api.table import ROUTES
from engine.ingest.ingest import Done
from engine.model.documents import is_uuid
from engine.model.errors import Refusal
from engine.model.instants import iso
from engine.model.read_models import EnvironmentModel
from engine.plans.plans import BUILT_IN, Plans
from tests.door.house import INGEST, MCP, make_models
from tests.fuzz.door import Door

MODELS = sorted({route.query for route in ROUTES}, key=lambda model: model.__name__)
LISTINGS = ("/destinations", "/events")
LAST = "01890000-0000-7000-8000-000000000000"
CURSOR = cursor_of("/events", 7, LAST)
HOUSE = make_models()
unquote_to_bytes(b"%00")  # fills its table of escapes: 1,520 lines that belong to no input


class _Nowhere:
    def submit(
        self, environment: EnvironmentModel, body: bytes, batch: bool, done: Done,
        hops: int = 0, key: str | None = None, trace: str | None = None,
    ) -> None:  # fmt: skip
        raise AssertionError("a head alone submits nothing")


ADMISSION = AdmissionControl(HOUSE, lambda: 0.0, Plans(HOUSE, BUILT_IN))
INGESTION = Ingestion(ADMISSION, HOUSE, _Nowhere(), BodyBudget(1 << 20, 1 << 20))


def check(data: bytes) -> None:
    for text in {data.decode("latin-1"), data.decode("utf-8", "surrogateescape")}:
        for listing in LISTINGS:
            for environment in (7, 8):
                _check_cursor(listing, environment, text)
    _check_head(data)
    try:
        given = parameters(data)
    except Refusal as refusal:
        _told(refusal)
        return
    for model in MODELS:
        _check_query(model, given)


def _check_cursor(listing: str, environment: int, text: str) -> None:
    try:
        found = position(listing, environment, text)
    except Refusal as refusal:
        _told(refusal)
        return
    assert found is not None
    assert is_uuid(found)
    assert cursor_of(listing, environment, found) == text, "a second spelling of one cursor"


def _check_query(model: type[Query], given: list[tuple[str, str]]) -> None:
    try:
        query = read_query(model, given)
    except Refusal as refusal:
        _told(refusal)
        return
    for name in ("from_", "to"):
        at_ms = getattr(query, name, None)
        if at_ms is not None:
            iso(at_ms)
    limit = getattr(query, "limit", 1)
    assert 1 <= limit <= 1_000
    query.model_dump_json()


def _check_head(data: bytes) -> None:
    request_id_of(data).encode("ascii")
    for key in (INGEST, MCP):
        for fields in (
            {b"authorization": b"Bearer " + key, b"content-type": b"application/json"},
            {b"authorization": data, b"x-environment": data, b"content-type": data},
            {b"authorization": b"Bearer " + key, b"content-type": data, b"x-environment": data},
            {b"authorization": b"Bearer " + key, b"origin": data, b"host": data},
        ):
            try:
                INGESTION.judge(False, data, fields, None)
            except Refusal as refusal:
                assert refusal.status < 500
                _told(refusal)


def _told(refusal: Refusal) -> None:
    json.loads(envelope(refusal.code, refusal.message, "r", refusal.details))


DOOR = Door(
    "query",
    check,
    (
        "api.queries",
        "api.pages",
        "api.admission",
        "api.entry",
        "api.ingestion",
        "api.envelope",
        "engine.model.instants",
    ),
    (
        CURSOR.encode(),
        b"cursor=" + CURSOR.encode() + b"&limit=20",
        b"from=2026-11-20T12:00:00%2B01:00&to=2026-11-21T12:00:00.000Z&status=PENDING",
        b"environment=DEVELOPMENT&isReplay=&enabled=true",
        b"destinationId=01890000-0000-7000-8000-000000000000&granularity=hour&period=7d",
    ),
    (
        b"limit=", b"cursor=", b"from=", b"to=", b"&", b"%00", b"%ff", b"+1", b"1_0", b"%D9%A3", b"0x1",
        b"-23:59", b"0001-01-01T00:00:00", b"9999-12-31T23:59:59", b"environment=", b"STAGING", b"=",
        b"isReplay=", b"period=", b"granularity=", b"minute", b"%", b" ", b"%20",
    ),
    most_lines=5_000,
    largest=MAX_HEAD,
)  # fmt: skip
# The lists that the route table must contain.
assert {AnalyticsQuery, AuditQuery, DlqQuery, FileQuery, ReplayQuery} <= set(MODELS)
