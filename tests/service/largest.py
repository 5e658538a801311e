"""Objects for requests that change an object without sending a body. Each object is as large as the API
allows, unless it would be expensive to create."""

from collections.abc import Awaitable, Callable
from typing import Any

from api.routes import Route
from engine.control.rules import MAX_PATTERN_CHARACTERS
from engine.schemas.compiled import SCHEMA_BYTES
from tests.service.house import ServiceHouse
from tests.service.owned import DEAD, Owner, Shelf

WAITING = 200  # deliveries that wait for one destination
NAME = "n" * 256
TEXT = "d" * 2_000
PATTERNS = [f"{number:02}." + "*." * 18 + "a" for number in range(100)]
assert sum(map(len, PATTERNS)) <= MAX_PATTERN_CHARACTERS
FILTER = " || ".join(f"event.payload.a{number} == {number}" for number in range(60))
PAYLOAD = {"a59": 59}  # the last alternative matches it
HEADERS = {f"x-{number}": "v" * 380 for number in range(20)}


def all_delivered(page: Any) -> bool:
    return [each["status"] for each in page["items"]] == ["DELIVERED"] * 100


class Largest:
    """The creator of these objects. The method `path` creates the object that a request to a route
    changes, and returns the path of this request. For routes of console sessions and machines, `path`
    creates no object."""

    def __init__(self, house: ServiceHouse, owner: Owner, shelf: Shelf) -> None:
        self._house = house
        self._owner = owner
        self._shelf = shelf
        self._count = 0
        self._made: dict[str, Callable[[], Awaitable[str]]] = {
            "eraseEvent": self._event,
            "archiveDestination": self._destination,
            "enableDestination": self._disabled,
            "disableDestination": self._destination,
            "resumeDestination": self._destination,
            "deleteRoutingRule": self._rule,
            "enableRoutingRule": self._disabled_rule,
            "disableRoutingRule": self._rule,
            "activateSchema": self._schema,
            "deprecateSchema": self._active_schema,
            "deleteTransformScript": self._script,
            "publishTransformScript": self._script,
            "unpublishTransformScript": self._live_script,
            "retryDelivery": self._waiting,
            "cancelDelivery": self._waiting,
            "retryDlqEntry": self._dead,
            "cancelReplayJob": self._replay,
            "rotateApiKey": self._key,
            "revokeApiKey": self._key,
            "eraseCustomer": self._customer,
            "createConsoleSession": self._nothing,
            "deleteConsoleSession": self._nothing,
            "drainMachine": self._machine,
            "undrainMachine": self._machine,
        }

    @property
    def names(self) -> set[str]:
        return set(self._made)

    async def path(self, route: Route) -> str:
        made = await self._made[route.name]()
        before, brace, after = route.path.partition("{")
        return before + made + after.partition("}")[2] if brace else route.path

    async def _nothing(self) -> str:
        return ""

    async def _machine(self) -> str:
        page = (await self._owner.api("GET", "/observability/nodes")).json
        return str(page["items"][0]["machine"])

    def _next(self) -> str:
        self._count += 1
        return f"large.{self._count}"

    async def _destination(self, *, path: str = DEAD, **more: Any) -> str:
        delivery = {"retrySchedule": [3600] * 20, "ordering": "KEY", "concurrency": 64}
        document = {"name": NAME, "description": TEXT, "headers": HEADERS, "delivery": delivery}
        made = await self._shelf.destination(self._owner, path, **(document | more))
        event_type = self._next()
        await self._rule(made, [event_type, *PATTERNS[1:]])
        await self._post(event_type)
        return made

    async def _disabled(self) -> str:
        """Enabling the destination sends all waiting deliveries."""
        made = await self._destination(path="/hook")
        answer = await self._owner.api("POST", f"/destinations/{made}/disable")
        assert answer.status == 200, answer.body
        event_types = (await self._owner.api("GET", f"/routing-rules?destinationId={made}")).json
        await self._post(event_types["items"][0]["eventTypes"][0])
        return made

    async def _post(self, event_type: str, **more: Any) -> list[str]:
        events = [
            {"eventType": event_type, "payload": PAYLOAD, "customerExternalId": f"c{number}"} | more
            for number in range(WAITING)
        ]
        answer = await self._owner.api("POST", "/events/batch", {"events": events}, check=False)
        assert answer.status == 202, answer.body
        return [each["id"] for each in answer.json["results"]]

    async def _rule(self, to: str | None = None, patterns: list[str] = PATTERNS) -> str:
        destination = to or await self._shelf.kept(self._owner, "destinations")
        document = {"name": NAME, "destinationId": destination, "eventTypes": patterns}
        return await self._create("/routing-rules", document | {"filter": FILTER})

    async def _disabled_rule(self) -> str:
        made = await self._rule()
        assert (await self._owner.api("POST", f"/routing-rules/{made}/disable")).status == 200
        return made

    async def _schema(self) -> str:
        field = {"type": ["string", "null"], "maxLength": 100, "description": "d" * 400}
        fields = {f"field_{number}": field for number in range(SCHEMA_BYTES // 500)}
        document = {"type": "object", "properties": fields, "additionalProperties": False}
        schema = {"eventType": self._next(), "schema": document, "description": TEXT}
        return await self._create("/schemas", schema)

    async def _active_schema(self) -> str:
        made = await self._schema()
        answer = await self._owner.api("POST", f"/schemas/{made}/activate", {}, check=False)
        assert answer.status == 200, answer.body
        return made

    async def _script(self) -> str:
        source = "function transform(event) { return event; }"
        lines = "".join(f"\nconst a{number} = {number};" for number in range(3_000))
        document = {
            "destinationId": await self._shelf.destination(self._owner),
            "name": NAME,
            "source": source + lines,
        }
        return await self._create("/transform-scripts", document)

    async def _live_script(self) -> str:
        made = await self._script()
        answer = await self._owner.api("POST", f"/transform-scripts/{made}/publish")
        assert answer.status == 200, answer.body
        return made

    async def _event(self) -> str:
        destination = await self._shelf.destination(self._owner)
        event_type = self._next()
        await self._rule(destination, [event_type])
        items = {f"a{number}": number for number in range(15_000)}
        document = {"eventType": event_type, "payload": items}
        made = await self._create("/events", document)
        await self._sent(made, "DELIVERED")
        return made

    async def _waiting(self) -> str:
        return await self._failed([3600] * 20, "RETRYING")

    async def _dead(self) -> str:
        return await self._failed([], "FAILED")

    async def _failed(self, schedule: list[int], status: str) -> str:
        delivery = {"retrySchedule": schedule, "timeoutMs": 1000}
        destination = await self._shelf.destination(self._owner, DEAD, delivery=delivery)
        event_type = self._next()
        await self._rule(destination, [event_type])
        event, *_ = await self._post(event_type)
        return await self._sent(event, status)

    async def _sent(self, event: str, status: str) -> str:
        found = await self._house.until(
            self._owner.api,
            f"/events/{event}/deliveries",
            lambda page: [each["status"] for each in page["items"]] == [status],
        )
        return str(found["items"][0]["id"])

    async def _replay(self) -> str:
        destination = await self._destination(path="/hook")
        path = f"/destinations/{destination}/deliveries?limit=100"
        sent = (await self._house.until(self._owner.api, path, all_delivered))["items"]
        answer = await self._owner.api("POST", f"/destinations/{destination}/disable")
        assert answer.status == 200, answer.body
        document = {"deliveryIds": [each["id"] for each in sent], "destinationId": destination}
        made = await self._create("/replay-jobs", document)
        await self._house.until(
            self._owner.api, f"/replay-jobs/{made}", lambda job: job["status"] == "PAUSED"
        )
        return made

    async def _key(self) -> str:
        return await self._create("/api-keys", {"name": NAME, "scope": "read"})

    async def _customer(self) -> str:
        name = self._next()
        for _ in range(5):
            await self._destination(customerExternalId=name)
        await self._post(f"{name}.event", customerExternalId=name)
        return name

    async def _create(self, path: str, document: dict[str, Any]) -> str:
        answer = await self._owner.api("POST", path, document, check=False)
        assert answer.status in (201, 202), (path, answer.body[:500])
        return str(answer.json["id"])
