"""Requests that name another owner's object in a body, a filter or a cursor.

The answer is the same as for an id that never existed, apart from the id itself.
"""

from typing import Any
from uuid import uuid4

import pytest

from api.pages import cursor_of
from api.routes import Embed
from api.table import ROUTES
from storage.database.bridge import Bridge
from tests.api.house import Caller, Response
from tests.service.house import ServiceHouse, open_service
from tests.service.owned import Owner, Shelf, fails_where_dead, open_owners
from tests.service.receiver import Receiver

URL = "http://127.0.0.1:1/"


def bodies(named: str) -> dict[str, tuple[str, Any]]:
    """Return requests that name the object `named` in their body: a path and a body for each kind."""
    attachment = {"fileName": "a", "source": {"kind": "FILE", "uri": named}}
    return {
        "events by a template": (
            "/destination-templates/webhook/preview",
            {"config": {"url": URL}, "eventId": named},
        ),
        "deliveries to replay": ("/replay-jobs", {"deliveryIds": [named], "dryRun": True}),
        "destinations to cancel at": (
            "/deliveries/cancel",
            {"destinationId": named, "dryRun": True},
        ),
        "destinations to retry at": (
            "/deliveries/retry",
            {"destinationId": named, "dryRun": True},
        ),
        "dlq to retry": ("/dlq/retry", {"deliveryIds": [named], "dryRun": True}),
        "dlq to discard": ("/dlq/discard", {"deliveryIds": [named], "dryRun": True}),
        "account to replay": ("/replay-jobs", {"customerAccountId": named, "dryRun": True}),
        "files as an attachment": (
            "/events",
            {"eventType": "of.nobody", "payload": {}, "attachments": [attachment]},
        ),
        "files in a batch": (
            "/events/batch",
            {"events": [{"eventType": "of.nobody", "payload": {}, "attachments": [attachment]}]},
        ),
    }


FILTERS = {
    "destinations": "/audit-logs?objectId={}",
    "api-keys": "/audit-logs?actorId={}",
}


class World:
    """Owners with an object of each kind, and callers."""

    def __init__(self, house: ServiceHouse, receiver: Receiver, owners: dict[str, Owner]) -> None:
        self.house = house
        self.shelf = Shelf(house, receiver)
        self.owners = owners
        self.sessions: dict[str, Caller] = {}

    async def open(self) -> None:
        for name in ("ada", "bob"):
            body = {"customerExternalId": name, "ttlSeconds": 900}
            told = await self.owners["nobody"].api("POST", "/embed/sessions", body)
            self.sessions[name] = self.house.caller_with(told.json["token"])

    async def thing(self, owner: Owner, kind: str) -> str:
        name = kind.split()[0]
        if name == "account":
            assert owner.account is not None
            return owner.account
        return await self.shelf.kept(owner, name)

    def strangers(self, owner: Owner) -> dict[str, Caller]:
        strangers = {
            each.name: each.api for each in self.owners.values() if each.place != owner.place
        }
        for name, session in self.sessions.items():
            if self.owners[name].place != owner.place or name != owner.customer:
                strangers[f"{name}'s session"] = session
        return strangers


@pytest.fixture
async def world(bridge: Bridge, receiver: Receiver) -> Any:
    receiver.answer = fails_where_dead
    async with open_service(bridge, control_rate_limit=10_000_000) as house:
        world = World(house, receiver, await open_owners(house))
        await world.open()
        yield world


def told(answer: Response, named: str) -> tuple[int, str]:
    text = answer.body.decode()
    document = answer.json
    if isinstance(document, dict):
        for varying in ("id", "requestId", "createdAt", "startedAt", "finishedAt", "receivedAt"):
            text = text.replace(str(document.get(varying)), "-")
    return answer.status, text.replace(named, "NAMED")


async def test_what_a_body_names_of_anothers_does_not_exist(world: World) -> None:
    wrong, tried = [], 0
    for owner in (world.owners["ada"], world.owners["ada-next-door"]):
        for kind, (path, _) in bodies("").items():
            named = await world.thing(owner, kind)
            for name, caller in world.strangers(owner).items():
                unknown = str(uuid4())
                body, other = bodies(named)[kind][1], bodies(unknown)[kind][1]
                found = await caller("POST", path, body)
                expected = await caller("POST", path, other)
                tried += 1
                if told(found, named) != told(expected, unknown):
                    wrong.append(f"{kind} of {owner.name} as {name}: {found} is not {expected}")
                if owner.marker in found.body.decode():
                    wrong.append(f"{kind} of {owner.name} as {name}: shows {found.body!r}")
            mine = await owner.api("POST", path, bodies(named)[kind][1], check=False)
            assert mine.status < 300, (kind, mine.body)
    assert wrong == [], "\n".join(wrong)
    assert tried > 40


async def test_what_a_filter_of_the_logs_names_of_anothers_finds_nothing(world: World) -> None:
    owner = world.owners["ada"]
    for kind, path in FILTERS.items():
        named = await world.thing(owner, kind)
        for name, caller in world.strangers(owner).items():
            if name.endswith("session"):
                continue  # sessions have access to neither log
            found = await caller("GET", path.format(named))
            assert (found.status, found.json.get("items")) == (200, []), (path, name, found.body)


async def test_a_cursor_leads_nowhere_in_anothers_list(world: World) -> None:
    """A cursor from another environment is refused. A cursor from another customer in the same
    environment is accepted, but the answer contains only objects from the caller's own list."""
    ada, bob = world.owners["ada"], world.owners["bob"]
    things = [
        await world.shelf.kept(ada, kind) for kind in ("events", "deliveries", "destinations")
    ]
    for kind in ("routing-rules", "files", "schemas", "transform-scripts", "api-keys"):
        for _ in range(2):  # enough for a second page
            await world.shelf.makers[kind](ada)
    tried = 0
    for route in ROUTES:
        if "cursor" not in route.query.model_fields or "{" in route.path:
            continue
        listing = route.path
        if route.embed is Embed.SHARED and listing.startswith("/destination-templates"):
            continue  # all callers share these
        page = await ada.api("GET", f"{listing}?limit=1", check=False)
        assert page.status == 200, (listing, page.body)
        own = page.json["nextCursor"]
        cursors = {own} if own else set()
        for cursor in cursors:
            for name, caller in world.strangers(ada).items():
                found = await caller("GET", f"{listing}?cursor={cursor}", check=False)
                tried += 1
                if name == "bob's session":
                    refused = 403 if route.embed is Embed.REFUSED else 200
                    assert found.status == refused, (listing, found.body)
                    text = found.body.decode()
                    assert ada.marker not in text
                    assert not [each for each in ada.ids - bob.ids if each in text]
                else:
                    refused = 403 if name.endswith("session") and found.status == 403 else 400
                    assert found.status == refused, (listing, name, found.body)
    assert tried >= 21
    # A cursor states an environment and the object after which the list continues. These cursors state
    # the stranger's own environment, but an object of ada's. The answer must contain nothing of ada's.
    stranger = world.owners["ada-next-door"]
    for thing in things:
        for listing in ("events", "deliveries", "destinations"):
            made = cursor_of(listing, stranger.number, thing)
            found = await stranger.api("GET", f"/{listing}?cursor={made}", check=False)
            assert found.status in (200, 400)
            assert ada.marker not in found.body.decode()


async def test_the_same_idempotency_key_and_correlation_are_each_tenants_own(world: World) -> None:
    ids = set()
    for owner in world.owners.values():
        if owner.name in ("bob", "nobody"):
            continue  # the same environment as ada's
        body = {
            "eventType": "of.nobody",
            "payload": {"of": owner.name},
            "idempotencyKey": "the-same",
            "correlationId": "the-same",
            "source": "the-same",
        }
        told = await owner.api("POST", "/events", body)
        assert (told.status, told.json["duplicate"]) == (202, False)
        ids.add(told.json["id"])
    assert len(ids) == 3


async def test_a_signed_url_is_for_its_file_and_environment_alone(world: World) -> None:
    ada, stranger = world.owners["ada"], world.owners["ada-next-door"]
    token = await world.shelf.kept(ada, "downloads")
    file = await world.shelf.kept(ada, "files")
    urls = world.house.server.carrying.urls
    nobody = world.house.caller_with(None)
    assert (await nobody("GET", f"/downloads/{token}")).status == 200
    crossed = urls.url(stranger.number, file).rpartition("/")[2]
    assert (await nobody("GET", f"/downloads/{crossed}")).status == 404
    theirs = await world.shelf.kept(stranger, "downloads")
    for at in range(0, len(token), 7):  # combine parts of the two tokens, in both orders
        mixed = token[:at] + theirs[at:]
        if mixed not in (token, theirs):
            assert (await nobody("GET", f"/downloads/{mixed}")).status == 404
