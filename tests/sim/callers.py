"""The callers. They post events, and repeat a post if a repetition is allowed.

A caller knows only the answers to its requests. Nothing here looks into a process.
"""

import json
from typing import TYPE_CHECKING, Any

import trio

from engine.ingest.ingest import Reply
from tests.sim.door import Client
from tests.sim.plan import Post
from tests.sim.trace import Answered, Item, Posted

if TYPE_CHECKING:
    from tests.sim.world import World

PATIENCE_S = 20.0  # longer than the service keeps a caller waiting
NOBODY_S = 40.0  # how long a caller tries to reach any process


class Callers:
    """The callers' requests, each in a task of its own."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self._chance = world.chance("callers")

    async def post(self, post: Post) -> None:
        for left in range(post.times, -1, -1):
            answer = await self._post_once(post)
            keyed = all(item.key is not None for item in post.items)
            again = answer == "overloaded" or (answer in ("internal", "lost") and keyed)
            if not left or not again or self._world.calm:
                return
            await trio.sleep(self._chance.choice((0.05, 1.0, 5.0)))

    async def _post_once(self, post: Post) -> str:
        world = self._world
        process = await world.front(NOBODY_S)
        if process is None or world.calm:
            return "nobody"
        request = world.next_request()
        world.tell(Posted, request, process.number, post.environment, post.items)
        client = Client(request, post.environment, _body(post), batch=post.batch)
        reply = await process.door.take(client, PATIENCE_S)
        if reply is not None and "unheard" in world.plan.faults and self._chance.random() < 0.02:
            reply = None  # the answer was lost on its way
        answer, ids, code = _read(reply, post)
        world.tell(Answered, request, answer, ids, code)
        return answer


def _body(post: Post) -> bytes:
    if not post.batch:
        return json.dumps(_event(post.items[0])).encode()
    return json.dumps({"events": [_event(item) for item in post.items]}).encode()


def _event(item: Item) -> dict[str, Any]:
    payload = {"mark": item.mark}
    if item.mark.endswith("poison"):
        payload["note"] = "\0poison"
    event: dict[str, Any] = {"eventType": item.type, "payload": payload}
    optional = {
        "customerExternalId": item.customer,
        "correlationId": item.correlation_id,
        "source": item.source,
        "idempotencyKey": item.key,
    }
    event.update({name: value for name, value in optional.items() if value is not None})
    return event


def _read(reply: Reply | None, post: Post) -> tuple[str, tuple[str, ...], str]:
    if reply is None:
        return "lost", (), ""
    if reply.code is not None:
        answer = reply.code if reply.code in ("overloaded", "internal") else "refused"
        return answer, (), reply.code
    answered = json.loads(reply.body)
    if not post.batch:
        return "accepted", (answered["id"],), ""
    results = answered["results"]
    codes = [each["error"]["code"] for each in results if each["error"] is not None]
    ids = tuple(each["id"] or "" for each in results)
    return "accepted", ids, codes[0] if codes else ""
