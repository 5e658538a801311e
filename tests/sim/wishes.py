"""Callers who do not post events. They create and change destinations and rules, and handle dead letters
and replays.

The callers know only the ids in the answers that they got, and what a list would show them.
"""

import json
from collections.abc import Awaitable, Callable
from random import Random
from typing import TYPE_CHECKING, Any

import trio
from msgspec import Struct

from engine.control.replay_drafts import OrderDraft, ReplayDraft
from engine.core.vocabulary import DeliveryStatus, DestinationStatus, DlqStatus, JobKind
from engine.drafts import DestinationDraft, RuleDraft
from engine.log.delivery_log import DeliveryFilter
from engine.model.errors import Refusal
from engine.ports import StoreAwayError
from tests.sim import endpoints
from tests.sim.door import Client
from tests.sim.plan import PATTERNS, SCHEDULES_S, NewDestination, Wish
from tests.sim.process import Process
from tests.sim.store.stored import WAITING
from tests.sim.tenants import caller_in
from tests.sim.trace import Asked, Told
from tests.sim.world import ONLY

if TYPE_CHECKING:
    from tests.sim.world import World

PATIENCE_S = 30.0
NOBODY_S = 40.0
AGAIN_S = 3.0  # before a refused request is repeated
TRIES = 6  # to make a destination
LOOK_S = 0.02  # between two looks of an operator who waits for a dead letter
LOOKS = 500


class Known(Struct, frozen=True):
    id: str
    environment: int


class Wishes:
    """Owner of what the callers know."""

    def __init__(self, world: "World") -> None:
        self._world = world
        self.destinations: list[Known] = []
        self._rules: list[Known] = []
        self._jobs: list[Known] = []

    # --- making destinations

    async def make(self, number: int, new: NewDestination) -> None:
        document: dict[str, Any] = {
            "name": f"destination {number}",
            "url": f"http://receiver.example/{number}",
            "customerExternalId": new.customer,
            "delivery": {
                "ordering": new.ordering,
                "concurrency": "auto" if new.adapts else new.concurrency,
                "retrySchedule": list(new.schedule_s),
                "timeoutMs": new.timeout_ms,
                "rateLimitPerSecond": new.rate_per_second,
            },
            "disableAfterSeconds": new.disable_after_s,
        }
        if new.endpoint is not None:
            document["authentication"] = endpoints.document(number)
        draft = DestinationDraft.model_validate(document)

        async def create(process: Process) -> str:
            record, _ = await process.destinations.create(*caller_in(new.environment), draft)
            return record.id

        made = await self._insist("create", new.environment, json.dumps(document), create)
        if made is None:
            return
        self.destinations.append(Known(made, new.environment))
        for place, patterns in enumerate(new.patterns):
            only, priority = (new.only, new.priority) if place == 0 else (None, "STANDARD")
            await self._rule(Known(made, new.environment), patterns, only, priority)
        if new.own:
            await self._rule(Known(made, new.environment), ("angarium.*",), None)

    async def _rule(
        self, of: Known, patterns: tuple[str, ...], only: str | None, priority: str = "STANDARD"
    ) -> None:
        document = {
            "name": "rule",
            "destinationId": of.id,
            "eventTypes": list(patterns),
            "filter": None if only is None else ONLY % only,
            "priority": priority,
        }
        draft = RuleDraft.model_validate(document)

        async def create(process: Process) -> str:
            return (await process.rules.create(*caller_in(of.environment), draft)).id

        made = await self._insist("rule", of.environment, json.dumps(document), create, of.id)
        if made is not None:
            self._rules.append(Known(made, of.environment))

    async def _insist(
        self,
        kind: str,
        environment: int,
        wanted: str,
        work: Callable[[Process], Awaitable[str]],
        of: str = "",
    ) -> str | None:
        """Return the result, or None if the request was not done."""
        for _ in range(TRIES):
            answer, result = await self._ask(kind, environment, work, of=of, wanted=wanted)
            if answer == "done":
                return str(result)
            if answer != "refused" or self._world.calm:
                return None
            await trio.sleep(AGAIN_S)
        return None

    # --- one wish

    async def wish(self, wish: Wish) -> None:
        """Make one request of the plan. Do nothing if the object that the request needs does not exist
        yet."""
        chance = Random(wish.draw)
        if wish.kind == "rules":
            await self._change_rules(wish, chance)
            return
        if not self.destinations:
            return
        of = self.destinations[wish.which % len(self.destinations)]
        changes: dict[str, Callable[[Known, Random], Awaitable[None]]] = {
            "patch": self._patch,
            "switch": self._switch,
            "archive": self._archive,
            "rotate": self._rotate,
            "requeue": self._requeue,
            "discard": self._discard,
            "replay": self._replay,
            "hasten": self._hasten,
            "withdraw": self._withdraw,
        }
        await changes[wish.kind](of, chance)

    async def _patch(self, of: Known, chance: Random) -> None:
        delivery: dict[str, Any] = chance.choice(
            (
                {"ordering": chance.choice(("NONE", "KEY", "STRICT"))},
                {"concurrency": chance.choice((1, 2, 8))},
                {"retrySchedule": list(chance.choice(SCHEDULES_S))},
            )
        )
        if "concurrency" in delivery and self._world.plan.dense and chance.random() < 0.5:
            delivery = {"concurrency": "auto"}
        await self._update(of, "patch", {"delivery": delivery})

    async def _rotate(self, of: Known, chance: Random) -> None:
        await self._update(of, "rotate", {"rotateSecret": True})

    async def _update(self, of: Known, kind: str, patch: dict[str, Any]) -> None:
        async def update(process: Process) -> None:
            await process.destinations.update(*caller_in(of.environment), of.id, patch)

        await self._ask(kind, of.environment, update, of=of.id, wanted=json.dumps(patch))

    async def _switch(self, of: Known, chance: Random) -> None:
        await self._set(of, DestinationStatus.DISABLED)
        await trio.sleep(chance.choice((0.1, 3.0, 20.0)))
        if chance.random() < 0.9:
            await self._set(of, DestinationStatus.ACTIVE)

    async def _archive(self, of: Known, chance: Random) -> None:
        if len(self.destinations) > 1:
            await self._set(of, DestinationStatus.ARCHIVED)

    async def _set(self, of: Known, status: DestinationStatus) -> None:
        async def change(process: Process) -> None:
            destinations = process.destinations
            does = {
                DestinationStatus.ACTIVE: destinations.enable,
                DestinationStatus.DISABLED: destinations.disable,
                DestinationStatus.ARCHIVED: destinations.archive,
            }[status]
            await does(*caller_in(of.environment), of.id)

        wanted = json.dumps({"status": status.name})
        await self._ask("patch", of.environment, change, of=of.id, wanted=wanted)

    async def enable_all(self) -> None:
        for of in list(self.destinations):
            await self._set(of, DestinationStatus.ACTIVE)

    async def _change_rules(self, wish: Wish, chance: Random) -> None:
        if chance.random() < 0.3 and self.destinations:
            of = self.destinations[wish.which % len(self.destinations)]
            await self._rule(of, chance.choice(PATTERNS), None)
            return
        if not self._rules:
            return
        rule = self._rules[wish.which % len(self._rules)]
        verb = chance.choice(("enable", "disable", "remove", "patch"))

        async def change(process: Process) -> None:
            if verb == "patch":
                patch = {"eventTypes": list(chance.choice(PATTERNS))}
                await process.rules.update(*caller_in(rule.environment), rule.id, patch)
            else:
                await getattr(process.rules, verb)(*caller_in(rule.environment), rule.id)

        kind = "unrule" if verb in ("disable", "remove") else "rule"
        await self._ask(kind, rule.environment, change, of=rule.id, wanted=verb)

    # --- dead letters and replays

    async def _requeue(self, of: Known, chance: Random) -> None:
        await self._work_off(of, chance, "requeue")

    async def _discard(self, of: Known, chance: Random) -> None:
        await self._work_off(of, chance, "discard")

    async def _work_off(self, of: Known, chance: Random, kind: str) -> None:
        named: tuple[str, ...] = ()
        which = DeliveryFilter(destinations=(of.id,))
        if self._world.plan.busy:
            await self._look_for_dead(of)
        if chance.random() < 0.4:
            listed = self._dead(of)
            named = tuple(chance.sample(listed, min(len(listed), chance.choice((1, 2, 5)))))
            which = DeliveryFilter(ids=named)

        async def work(process: Process) -> None:
            does = process.dead_letters
            many = does.retry_all if kind == "requeue" else does.discard_all
            await many(*caller_in(of.environment), which, {})

        await self._ask(kind, of.environment, work, of="" if named else of.id, deliveries=named)

    async def _hasten(self, of: Known, chance: Random) -> None:
        if await self._order_all(of, chance, JobKind.RETRY):
            return
        for identifier in self._waiting(of, chance):

            async def retry(process: Process, identifier: str = identifier) -> None:
                await process.deliveries.retry(*caller_in(of.environment), identifier, None)

            await self._ask("hasten", of.environment, retry, deliveries=(identifier,))

    async def _withdraw(self, of: Known, chance: Random) -> None:
        if await self._order_all(of, chance, JobKind.CANCEL):
            return
        for identifier in self._waiting(of, chance):

            async def cancel(process: Process, identifier: str = identifier) -> str | None:
                """Return the delivery's id if the answer shows that the delivery is already discarded."""
                entry = await process.deliveries.cancel(
                    *caller_in(of.environment), identifier, None
                )
                return identifier if entry.dlq_status is DlqStatus.DISCARDED else None

            await self._ask("withdraw", of.environment, cancel, deliveries=(identifier,))

    async def _order_all(self, of: Known, chance: Random, kind: JobKind) -> bool:
        """In half of the calls, create a job for all waiting deliveries of a destination and return True.
        In the other half, return False. In a history without replay jobs, always return False, because
        its processes run no jobs."""
        jobs = any(wish.kind == "replay" for wish in self._world.plan.wishes)
        if not jobs or chance.random() < 0.5:
            return False
        draft = OrderDraft.model_validate({"destinationId": of.id})

        async def create(process: Process) -> str:
            return (await process.replays.order(*caller_in(of.environment), draft, None, kind)).id

        shown = tuple(self._listed(of))
        name = f"{kind.name.lower()} all"
        await self._ask(name, of.environment, create, of=of.id, deliveries=shown)
        return True

    def _listed(self, of: Known) -> list[str]:
        return [
            row.id
            for row in self._world.database.tables.deliveries.values()
            if row.destination == of.id and row.status in WAITING
        ]

    def _waiting(self, of: Known, chance: Random) -> list[str]:
        listed = self._listed(of)
        return chance.sample(listed, min(len(listed), chance.choice((1, 2, 4))))

    async def _look_for_dead(self, of: Known) -> None:
        for _ in range(LOOKS):
            if self._world.calm or self._dead(of):
                return
            await trio.sleep(LOOK_S)

    def _dead(self, of: Known) -> list[str]:
        return [
            row.id
            for row in self._world.database.tables.deliveries.values()
            if row.environment == of.environment and row.dlq is DlqStatus.IN_DLQ
        ]

    def _delivered(self, of: Known) -> tuple[str, ...]:
        return tuple(
            row.id
            for row in self._world.database.tables.deliveries.values()
            if row.destination == of.id and row.status is DeliveryStatus.DELIVERED
        )

    async def _replay(self, of: Known, chance: Random) -> None:
        document: dict[str, Any] = {"destinationId": of.id}
        if chance.random() < 0.3:
            document["ratePerSecond"] = chance.choice((0.5, 3.0))
        if chance.random() < 0.3:
            document["statuses"] = [chance.choice(("DELIVERED", "FAILED"))]
        if chance.random() < 0.1:
            document["dryRun"] = True
        if chance.random() < 0.3:
            document.pop("statuses", None)
            document["mode"] = "MISSING"
        draft = ReplayDraft.model_validate(document)

        async def create(process: Process) -> str:
            return (await process.replays.create(*caller_in(of.environment), draft, None)).id

        again = document.get("statuses") != ["FAILED"] and "mode" not in document
        shown = self._delivered(of) if again else ()
        answer, job = await self._ask(
            "replay",
            of.environment,
            create,
            of=of.id,
            wanted=json.dumps(document),
            deliveries=shown,
        )
        if answer == "done" and chance.random() < 0.25:
            await trio.sleep(chance.choice((0.05, 1.0, 8.0)))

            async def cancel(process: Process) -> None:
                await process.replays.cancel(*caller_in(of.environment), str(job), None)

            await self._ask("cancel", of.environment, cancel, of=str(job))

    # --- asking

    async def _ask(
        self,
        kind: str,
        environment: int,
        work: Callable[[Process], Awaitable[Any]],
        *,
        of: str = "",
        wanted: str = "",
        deliveries: tuple[str, ...] = (),
    ) -> tuple[str, Any]:
        """Return the answer and the result."""
        world = self._world
        process = await world.front(NOBODY_S)
        if process is None:
            return "nobody", None
        request = world.next_request()
        world.tell(Asked, request, process.number, kind, environment, of, deliveries, wanted)
        client = Client(request, environment, b"{}", work=work)
        results = await process.door.perform(client, PATIENCE_S)
        result = results[0] if results else None
        answer, code = _judged(results)
        ids = (result,) if isinstance(result, str) else ()
        world.tell(Told, request, answer, ids, code)
        return answer, result


def _judged(results: Any) -> tuple[str, str]:
    """Return the kind of answer that the caller got (see `Told`), and the error code. If there is no
    error, the code is an empty string."""
    if not results:
        return "lost", ""
    result = results[0]
    if isinstance(result, Refusal):
        return ("unknown" if result.code == "internal" else "refused"), result.code
    if isinstance(result, StoreAwayError):
        return "refused", "overloaded"  # as the API answers
    if isinstance(result, Exception):
        return "unknown", "internal"
    return "done", ""
