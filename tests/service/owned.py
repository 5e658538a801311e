"""Objects for the API routes that have an object's id or name in their path. Each object is created for a
given owner.

The texts of an object contain its owner's marker. An answer to another caller must not contain the
marker.
"""

import base64
import re
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from socket import gethostname
from typing import Any

import trio

from api.routes import Route
from engine.core.vocabulary import Environment
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse
from tests.service.receiver import Received, Receiver

DEAD = "/dead"  # the receiver fails at this path
TEMPLATE = "webhook"
Named = tuple[str, str]  # a route: its method and path
# The state in which an action needs its object.
STATES = {
    ("POST", "/deliveries/{id}/retry"): "waiting deliveries",
    ("POST", "/deliveries/{id}/cancel"): "waiting deliveries",
    ("POST", "/schemas/{id}/deprecate"): "active schemas",
    ("POST", "/transform-scripts/{id}/unpublish"): "live scripts",
}


def name_of(route: Route) -> Named:
    return route.method, route.path


def kind_of(route: Route) -> str | None:
    before, brace, _ = route.path.partition("/{")
    return before.removeprefix("/") if brace else None


@dataclass(eq=False)
class Owner:
    """An owner of objects in one environment: a customer, or the environment itself if `customer` is
    None."""

    name: str
    tenant: Tenant
    environment: Environment
    customer: str | None
    api: Caller
    account: str | None = None
    ids: set[str] = field(default_factory=set)  # ids of objects that belong only to this owner

    @property
    def place(self) -> tuple[str, Environment]:
        return self.tenant.workspace.id, self.environment

    @property
    def number(self) -> int:
        return next(e.number for e in self.tenant.environments if e.name is self.environment)

    @property
    def marker(self) -> str:
        """The text that all objects of the owner contain."""
        return f"marker({self.name})"

    @property
    def tied(self) -> dict[str, str]:
        return {} if self.customer is None else {"customerExternalId": self.customer}

    async def made(self, path: str, document: Any, *, own: bool = True) -> dict[str, Any]:
        """Create an object and return it. If `own` is true, the object belongs only to this owner, and
        its id is added to `ids`. Schemas and API keys belong to all owners in the environment."""
        answer = await self.api("POST", path, document, check=False)
        assert answer.status in (201, 202), (path, answer.body)
        found: dict[str, Any] = answer.json
        if own:
            self.ids.add(found["id"])
        return found


def fails_where_dead(request: Received) -> int:
    return 500 if request.path == DEAD else 204


Maker = Callable[[Owner], Awaitable[str]]


class Shelf:
    """Creates objects. For each owner and kind, it keeps one object, which no test changes."""

    def __init__(self, house: ServiceHouse, receiver: Receiver) -> None:
        self._house = house
        self._receiver = receiver
        self._kept: dict[tuple[Owner, str], str] = {}
        self._count = 0
        # The function that creates each kind of object. A kind's name is usually the part of a route's
        # path before the object's id. `STATES` lists the routes that need an object in a particular
        # state.
        self.makers: dict[str, Maker] = {
            "destinations": self.destination,
            "templated destinations": self.templated,
            "destination-templates": self.template,
            "routing-rules": self.rule,
            "events": self.event,
            "files": self.file,
            "downloads": self.token,
            "deliveries": self.delivery,
            "waiting deliveries": self.waiting,
            "replay-jobs": self.replay,
            "dlq": self.dead,
            "schemas": self.schema,
            "active schemas": self.active_schema,
            "schemas/types": self.schema_type,
            "transform-scripts": self.script,
            "live scripts": self.live_script,
            "audit-logs": self.entry,
            "api-keys": self.key,
            "customers": self.customer,
            "observability/nodes": self.machine,
        }

    async def kept(self, owner: Owner, kind: str) -> str:
        if (owner, kind) not in self._kept:
            self._kept[owner, kind] = await self.makers[kind](owner)
        return self._kept[owner, kind]

    async def path(self, route: Route, owner: Owner, *, fresh: bool) -> str:
        """Return a route's path with the id of an object. If the path has no parameter, return the path
        unchanged. If `fresh` is True and the route is not a GET, this method creates a new object.
        Otherwise it takes the object that this shelf keeps for the owner (see `Shelf`)."""
        kind = kind_of(route)
        if kind is None:
            return route.path
        changes = fresh and route.method != "GET"
        make = self.makers[STATES.get(name_of(route), kind)]
        thing = await make(owner) if changes else await self.kept(owner, kind)
        return re.sub(r"{\w+}", thing, route.path)

    async def destination(self, owner: Owner, path: str = "/hook", **more: Any) -> str:
        document = {"name": owner.marker, "url": self._receiver.url(path), **owner.tied, **more}
        return str((await owner.made("/destinations", document))["id"])

    async def templated(self, owner: Owner) -> str:
        config = {"url": self._receiver.url(), "authorization": f"Bearer {owner.marker}"}
        document = {"name": owner.marker, "templateId": TEMPLATE, "config": config, **owner.tied}
        return str((await owner.made("/destinations", document))["id"])

    async def template(self, _: Owner) -> str:
        return TEMPLATE

    async def machine(self, _: Owner) -> str:
        return gethostname()

    async def rule(self, owner: Owner, types: str | None = None, to: str | None = None) -> str:
        document = {
            "name": owner.marker,
            "destinationId": to or await self.kept(owner, "destinations"),
            "eventTypes": [types or f"never.{self._next()}"],
        }
        return str((await owner.made("/routing-rules", document))["id"])

    async def event(self, owner: Owner, event_type: str = "of.nobody") -> str:
        payload = {"marker": owner.marker}
        document = {
            "eventType": event_type,
            "payload": payload,
            "source": owner.marker,
            **owner.tied,
        }
        return str((await owner.made("/events", document))["id"])

    async def file(self, owner: Owner) -> str:
        content = base64.b64encode(owner.marker.encode()).decode()
        document = {"content": content, "fileName": owner.marker, **owner.tied}
        return str((await owner.made("/files", document))["id"])

    async def customer(self, owner: Owner) -> str:
        name = f"customer {self._next()} of {owner.name}"
        session = await owner.api("POST", "/embed/sessions", {"customerExternalId": name})
        assert session.status == 201
        return name.replace(" ", "%20")

    async def token(self, owner: Owner) -> str:
        file = await self.kept(owner, "files")
        return self._house.server.carrying.urls.url(owner.number, file).rpartition("/")[2]

    async def delivery(self, owner: Owner) -> str:
        return await self._sent(owner, await self.destination(owner))

    async def dead(self, owner: Owner) -> str:
        delivery = {"retrySchedule": [], "timeoutMs": 1000}
        return await self._sent(owner, await self.destination(owner, DEAD, delivery=delivery))

    async def waiting(self, owner: Owner) -> str:
        delivery = {"retrySchedule": [3600], "timeoutMs": 1000}
        return await self._sent(
            owner, await self.destination(owner, DEAD, delivery=delivery), "RETRYING"
        )

    async def replay(self, owner: Owner) -> str:
        """A job that cannot end because its only destination is disabled."""
        destination = await self.destination(owner)
        await self._sent(owner, destination)
        assert (await owner.api("POST", f"/destinations/{destination}/disable")).status == 200
        job = await owner.made("/replay-jobs", {"destinationId": destination})
        with trio.fail_after(HANGS_S):
            while job["status"] != "PAUSED":
                await trio.sleep(0.01)
                job = (await owner.api("GET", f"/replay-jobs/{job['id']}", check=False)).json
        return str(job["id"])

    async def schema(self, owner: Owner) -> str:
        return str((await self._schema(owner))["id"])

    async def schema_type(self, owner: Owner) -> str:
        return str((await self._active_schema(owner))["eventType"])

    async def active_schema(self, owner: Owner) -> str:
        return str((await self._active_schema(owner))["id"])

    async def script(self, owner: Owner, destination: str | None = None) -> str:
        document = {
            "destinationId": destination or await self.kept(owner, "destinations"),
            "name": owner.marker,
            "source": f"function transform(event) {{ return '{owner.marker}'; }}",
        }
        return str((await owner.made("/transform-scripts", document))["id"])

    async def live_script(self, owner: Owner) -> str:
        script = await self.script(owner, await self.destination(owner))
        assert (await owner.api("POST", f"/transform-scripts/{script}/publish")).status == 200
        return script

    async def key(self, owner: Owner) -> str:
        document = {"name": "of an environment", "scope": "read"}
        return str((await owner.made("/api-keys", document, own=False))["id"])

    async def entry(self, owner: Owner) -> str:
        await self.kept(owner, "api-keys")
        return str(
            await self._house.server.bridge.pool.fetch_value(
                "SELECT id::text FROM audit_log WHERE environment = $1 ORDER BY id LIMIT 1",
                owner.number,
            )
        )

    async def _schema(self, owner: Owner) -> dict[str, Any]:
        document = {"eventType": f"schema.{self._next()}", "schema": {"type": "object"}}
        return await owner.made("/schemas", document, own=False)

    async def _active_schema(self, owner: Owner) -> dict[str, Any]:
        version = await self._schema(owner)
        path = f"/schemas/{version['id']}/activate"
        assert (await owner.api("POST", path, {}, check=False)).status == 200
        return version

    async def _sent(self, owner: Owner, destination: str, *states: str) -> str:
        """Return a delivery once it has one of `states` (default: DELIVERED or FAILED)."""
        states = states or ("DELIVERED", "FAILED")
        event_type = f"sent.{self._next()}"
        await self.rule(owner, event_type, destination)
        event = await self.event(owner, event_type)
        found = await self._house.until(
            owner.api, f"/events/{event}/deliveries", lambda page: _are(page["items"], states)
        )
        (delivery,) = (item["id"] for item in found["items"])
        owner.ids.add(delivery)
        return str(delivery)

    def _next(self) -> int:
        self._count += 1
        return self._count


def _are(items: list[dict[str, Any]], states: tuple[str, ...]) -> bool:
    return bool(items) and all(item["status"] in states for item in items)


async def open_owners(house: ServiceHouse) -> dict[str, Owner]:
    acme, neighbour = await house.tenant("acme"), await house.tenant("neighbour")
    owners = {}
    for name, tenant, environment, customer in (
        ("ada", acme, Environment.DEVELOPMENT, "ada"),
        ("bob", acme, Environment.DEVELOPMENT, "bob"),
        ("nobody", acme, Environment.DEVELOPMENT, None),
        ("ada-in-staging", acme, Environment.STAGING, "ada"),
        ("ada-next-door", neighbour, Environment.DEVELOPMENT, "ada"),
    ):
        api = await house.caller(tenant, environment=environment)
        owner = Owner(name, tenant, environment, customer, api)
        if customer is not None:
            session = await api("POST", "/embed/sessions", {"customerExternalId": customer})
            owner.account = session.json["customerAccountId"]
            owner.ids.add(str(owner.account))
        owners[name] = owner
    return owners
