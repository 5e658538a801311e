"""Every GET answer is at most 2 MiB, whatever rows exist."""

from typing import Any

from api.pages import PAGE_BYTES
from api.routes import Embed, Route
from api.table import ROUTES
from engine.core.vocabulary import DeliveryStatus, DeliveryTrouble, DlqStatus
from storage.database.connection import Connection
from storage.encryption.secretbox import SecretBox
from tests.api.house import Caller, Response
from tests.service.house import ServiceHouse
from tests.service.owned import Owner, Shelf, fails_where_dead, open_owners
from tests.service.receiver import Receiver

MOST = 2 << 20
STREAMED = {"/files/{id}/content", "/downloads/{token}"}  # they send 64 KiB at a time
NAME = "\x01" * 256  # each character takes six bytes in JSON
COPIES = 120  # more than fit in a page
ATTEMPTS = 300
EVENT_TEXTS = ("type", "source", "customer", "correlation_id", "request_id", "idempotency_key")
# For each table, the row that makes the answers largest. Its texts are as long as the API, a receiver
# or a script can make them, and consist of characters that JSON must escape.
BODY = b"\x01" * 16 * 1024
TEXTS: dict[str, dict[str, Any]] = {
    "destinations": {
        "name": NAME,
        "description": "\x01" * 2_000,
        "customer": NAME,
        "headers": b'[["x","' + b"\\u0001" * 1_300 + b'"]]',
        "config": b'{"url":"http://127.0.0.1:1/","more":"' + b"\\u0001" * 2_600 + b'"}',
    },
    "routing_rules": {
        "name": NAME,
        "event_types": [f"{number:03}" + "a" * 253 for number in range(100)],
        "filter": "'" + "\x01" * 2_040 + "' == ''",
    },
    "events": dict.fromkeys(EVENT_TEXTS, NAME),
    "deliveries": {
        "event_type": NAME,
        "last_error": b"\x01" * 4_096,
        "status": DeliveryStatus.FAILED,
        "dlq_status": DlqStatus.IN_DLQ,
        "trouble": DeliveryTrouble.DEAD,
    },
    "replay_jobs": {
        "error": "\x01" * 2_000,
        "event_types": ["a" * 256] * 100,
        "delivery_ids": ["01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"] * 1_000,
        "status": 5,
    },
    "event_schemas": {
        "description": "\x01" * 2_000,
        "document": b'{"description":"' + b"\\u0001" * 10_900 + b'"}',
        "example": b'{"a":"' + b"\\u0001" * 10_900 + b'"}',
    },
    "transform_scripts": {"name": NAME, "source": b"\x01" * 64 * 1024},
    "audit_log": {"changes": b'{"source":{"from":"' + b"\\u0001" * 40_000 + b'","to":null}}'},
    "api_keys": {"name": NAME},
    "files": {"file_name": NAME, "content_type": NAME},
}
# Lists whose rows are so large that the largest page reaches the limit of bytes (`PAGE_BYTES`) before the
# limit of items.
EARLY = {
    "/destinations",
    "/routing-rules",
    "/replay-jobs",
    "/schemas",
    "/destinations/{destinationId}/transform-scripts",
    "/audit-logs",
    "/deliveries/{id}/attempts",
}
# Columns besides the id that must differ in each copy.
COUNTED = {"event_schemas": "version", "transform_scripts": "version"}


class Crowd:
    """Rows at their limits in one environment."""

    def __init__(self, house: ServiceHouse, owner: Owner, shelf: Shelf) -> None:
        self._house = house
        self._pool: Connection
        self._owner = owner
        self._shelf = shelf

    async def fill(self) -> None:
        delivery = await self._shelf.kept(self._owner, "dlq")
        # The running server can read these tables at any time. One transaction copies the rows and
        # encrypts the secrets of the copies, so the server never reads a copy with an unreadable secret.
        async with self._house.server.bridge.pool.transaction() as self._pool:
            for table, texts in TEXTS.items():
                await self._worsen(table, texts)
                if table != "api_keys":  # its secrets are in another table
                    await self._copy(table)
            await self._seal()
            await self._attempts(delivery)

    async def multiply(self) -> None:
        async with self._house.server.bridge.pool.transaction() as self._pool:
            for table in TEXTS:
                if table != "api_keys":
                    await self._copy(table)
            await self._seal()

    async def _worsen(self, table: str, texts: dict[str, Any]) -> None:
        columns = {
            row["column_name"]: row["udt_name"]
            for row in await self._pool.fetch(
                "SELECT column_name, udt_name FROM information_schema.columns WHERE table_name = $1",
                table,
            )
        }
        given = {name: value for name, value in texts.items() if name in columns}
        assert given, table
        sets = ", ".join(f"{name} = ${at}" for at, name in enumerate(given, 2))
        await self._pool.fetch(
            f"UPDATE {table} SET {sets} WHERE environment = $1",
            self._owner.number,
            *given.values(),
        )

    async def _copy(self, table: str) -> None:
        """Copies have ids that sort before the row's own id."""
        counted = COUNTED.get(table)
        more = "" if counted is None else f", '{counted}', (to_jsonb(r) ->> '{counted}')::int + n"
        await self._pool.fetch(
            f"""
            INSERT INTO {table} SELECT (jsonb_populate_record(r, jsonb_build_object(
                'id', overlay(r.id::text PLACING lpad(to_hex(n), 12, '0') FROM 25){more}))).*
            FROM {table} r, generate_series(1, {COPIES}) n WHERE r.environment = $1
                AND r.id = (SELECT id FROM {table} WHERE environment = $1 ORDER BY id LIMIT 1)""",
            self._owner.number,
        )

    async def _seal(self) -> None:
        """Encrypt the secrets of the copied destinations. An encrypted secret can be read only in its own
        row, so each copy needs the secret encrypted anew."""
        box = SecretBox([b"k" * 32])
        rows = await self._pool.fetch(
            "SELECT id::text, sealed FROM destinations WHERE environment = $1 ORDER BY id",
            self._owner.number,
        )
        first = rows[COPIES]
        held = box.open(first["sealed"], f"destinations/{first['id']}")
        for row in rows[:COPIES]:
            await self._pool.fetch(
                "UPDATE destinations SET sealed = $2 WHERE environment = $1 AND id = $3::uuid",
                self._owner.number,
                box.seal(held, f"destinations/{row['id']}"),
                row["id"],
            )

    async def _attempts(self, delivery: str) -> None:
        await self._pool.fetch(
            f"""
            INSERT INTO attempts (environment, delivery, number, started_at_ms, duration_ms, success,
                destination_version, response_status, error_category, error_message,
                response_headers, response_body, logs)
            SELECT $1, $2::uuid, n, 1, 1, false, 1, 500, 9, $3, $4, $5, $3
            FROM generate_series(2, {ATTEMPTS}) n""",
            self._owner.number,
            delivery,
            b"\x01" * 4_096,
            b"x: " + BODY,
            BODY,
        )
        await self._pool.fetch(
            "UPDATE events SET payload = $2, attachments = NULL, metadata = NULL WHERE environment = $1"
            " AND id = (SELECT event FROM deliveries WHERE environment = $1 AND id = $3::uuid)",
            self._owner.number,
            b'{"q":[' + b",".join([b'""'] * 87_000) + b"]}",
            delivery,
        )


async def target_of(route: Route, shelf: Shelf, owner: Owner) -> str:
    before, brace, after = route.path.partition("/{")
    if not brace:
        return route.path
    kind = before.removeprefix("/")
    kind = "dlq" if kind == "deliveries" else kind
    named = await shelf.kept(owner, kind)
    return f"{before}/{named}{after.partition('}')[2]}"


async def worst(api: Caller, route: Route, path: str) -> list[Response]:
    if "/analytics" in path:
        return [await api("GET", f"{path}?period=7d&granularity=minute")]
    if route.path == "/lookup":
        return [await api("GET", f"{path}?q=%01")]
    if "limit" not in route.query.model_fields:
        return [
            await api("GET", path + ("?environment=DEVELOPMENT" if "throughput" in path else ""))
        ]
    answers, cursor = [], ""
    limit = 1_000 if "1000" in str(route.query.model_json_schema()["properties"]["limit"]) else 100
    while True:
        answers.append(await api("GET", f"{path}?limit={limit}{cursor}"))
        assert answers[-1].status == 200, (path, answers[-1].body[:300])
        following = answers[-1].json["nextCursor"]
        if following is None:
            return answers
        cursor = f"&cursor={following}"


async def test_every_answer_of_a_get_has_room_in_2_mib(
    house: ServiceHouse, receiver: Receiver
) -> None:
    receiver.answer = fails_where_dead
    owner = (await open_owners(house))["nobody"]
    shelf = Shelf(house, receiver)
    gets = [each for each in ROUTES if each.method == "GET" and each.path not in STREAMED]
    targets = [(each, await target_of(each, shelf, owner)) for each in gets]
    await Crowd(house, owner, shelf).fill()
    early = set()
    for route, path in targets:
        if route.embed is Embed.ONLY:
            continue
        answers = await worst(owner.api, route, path)
        for answer in answers:
            assert answer.status == 200, (route.path, answer.body[:300])
            assert len(answer.body) <= MOST, (route.path, len(answer.body))
        if len(answers) > 1:
            early.add(route.path)
            items = [item for answer in answers for item in answer.json["items"]]
            seen = {item.get("id") or item["number"] for item in items}
            assert len(items) == len(seen), route.path
            assert len(seen) >= COPIES, (route.path, len(seen))
            largest = max(len(answer.body) for answer in answers)
            assert largest <= PAGE_BYTES + 512 * 1024, (route.path, largest)
    assert early >= EARLY
