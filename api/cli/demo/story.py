"""The two parts of the demo, run against a server with its public API only."""

import time
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import trio

import angarium
from angarium import AsyncClient, VerificationError
from angarium.shapes import Destination, EventInput
from api.cli.demo.screen import DemoTally, Screen, milliseconds
from api.cli.errors import Trouble
from api.cli.receiver import ReceivedRequest, ReceiverReply, listen, port_of, receive

SENDERS = 1  # with more, the latency would include this program's queue
BATCH = 100
QUIET_S = 30.0  # the demo stops waiting after this time without a webhook
OUTAGE_S = 3.0
ORDERED_EVENTS = 40
# Delays before retries, in seconds. The first four delays are longer in total than the receiver's outage
# of OUTAGE_S. The later delays are needed only if the computer is very busy.
ORDERED_SCHEDULE = [1, 1, 1, 1, 2, 2, 5, 5, 10, 10]
REFUSED = (
    "the server refuses receivers on this machine, as it should in production.\n"
    "Start it with `make run`, or with ANGARIUM_EGRESS_ALLOW=127.0.0.0/8,::1/128."
)


@dataclass(slots=True)
class Inbox:
    """The demo's receiver. From its first webhook on, it fails on purpose for `outage_s` seconds."""

    tally: DemoTally
    secrets: list[str] = field(default_factory=list)
    outage_s: float = 0.0
    outage_ends: float | None = None
    moved: trio.Event = field(default_factory=trio.Event)

    async def respond(self, request: ReceivedRequest) -> ReceiverReply:
        now = time.monotonic()
        try:
            webhook = angarium.verify(request.body, request.headers, self.secrets)
        except (VerificationError, ValueError):
            self.tally.refused += 1
            return ReceiverReply(400)
        data = webhook.get("data") if isinstance(webhook, dict) else None
        if not isinstance(data, dict) or "number" not in data:
            return ReceiverReply(204)  # the sample of a test
        if self.outage_s:
            if self.outage_ends is None:
                self.outage_ends = now + self.outage_s
            if now < self.outage_ends:
                self.tally.failures += 1
                self.moved.set()
                return ReceiverReply(500)
        self.tally.arrived(data["number"], now)
        self.moved.set()
        return ReceiverReply(204)


@dataclass(slots=True)
class Story:
    """The demo. `problems` collects the failed checks. `clean_up` removes the destinations and rules that
    the demo has created."""

    client: AsyncClient
    screen: Screen
    run: str  # unique for each run
    events: int
    destinations: list[str] = field(default_factory=list)
    rules: list[str] = field(default_factory=list)
    problems: list[str] = field(default_factory=list)

    async def play(self) -> None:
        """Run both parts of the demo. Raises AngariumError if a request fails, and Trouble if the server
        cannot send to this computer."""
        await self.steady_receiver()
        await self.failing_receiver()

    async def clean_up(self) -> None:
        for rule in self.rules:
            await self.client.routing_rules.delete(rule)
        for destination in self.destinations:
            await self.client.destinations.archive(destination)

    # --- the first part

    async def steady_receiver(self) -> None:
        tally = DemoTally(self.events)
        inbox = Inbox(tally)
        single = self.events // 2
        async with trio.open_nursery() as nursery:
            sockets = await listen("127.0.0.1", 0)
            nursery.start_soon(receive, sockets, inbox.respond)
            address = f"http://127.0.0.1:{port_of(sockets)}/hooks"
            self.screen.say(f"\n[bold]1. A receiver that works[/bold], at {address}")
            destination = await self.destination("steady", address, inbox, {"concurrency": 32})
            await self.rule(destination, "orders", "order.*")
            await self.rule(destination, "invoices", "invoice.*")
            await self.check_reachable(destination)
            self.screen.say(
                f"   one destination, two rules; now {single} events one by one and "
                f"{self.events - single} in batches of {BATCH}"
            )
            async with self.screen.watching(tally):
                started = time.monotonic()
                await self.send_singly(tally, range(single))
                await self.send_batches(tally, range(single, self.events))
                await self.wait_complete(inbox)
                took = time.monotonic() - started
            nursery.cancel_scope.cancel()
        self.judge(tally, in_order=False)
        recorded = await self.count_delivered(destination["id"], len(tally.order))
        if recorded != self.events:
            self.problems.append(f"{recorded} of {self.events} deliveries recorded as DELIVERED")
        self.screen.say(
            f"   {len(tally.order)} arrived within {took:.1f} s, every signature verified, "
            f"{recorded} recorded as DELIVERED; one by one, posted to arrived: "
            f"p50 {milliseconds(tally, 0.5)}, p99 {milliseconds(tally, 0.99)}"
        )

    async def check_reachable(self, destination: Destination) -> None:
        """Ask the server to send a test webhook. Raises Trouble with the remedy if the webhook fails, or
        if the server's settings forbid this computer's address."""
        result = await self.client.destinations.test(destination["id"])
        if result["success"]:
            return
        if result["errorCategory"] == "BLOCKED_ADDRESS":
            raise Trouble(REFUSED)
        raise Trouble(f"the server cannot reach this machine: {result['errorMessage']}")

    async def send_singly(self, tally: DemoTally, numbers: Iterable[int]) -> None:
        waiting = iter(numbers)

        async def sender() -> None:
            for number in waiting:
                event = self.event("order.created", number)
                tally.sent(number, time.monotonic())
                await self.client.events.send(event["eventType"], event["payload"])
                tally.accepted += 1

        async with trio.open_nursery() as nursery:
            for _ in range(SENDERS):
                nursery.start_soon(sender)

    async def send_batches(self, tally: DemoTally, numbers: range) -> None:
        for start in range(numbers.start, numbers.stop, BATCH):
            chunk = range(start, min(start + BATCH, numbers.stop))
            for number in chunk:
                tally.sent(number, None)  # the latency of a batch is not that of one event
            answer = await self.client.events.send_batch(
                [self.event("invoice.paid", number) for number in chunk]
            )
            # If the answer to a batch is lost, the client sends the batch again. The server then counts
            # as duplicates the events that it accepted the first time.
            tally.accepted += answer["accepted"] + answer["duplicates"]

    async def count_delivered(self, destination: str, expected: int) -> int:
        """Wait until the server shows `expected` deliveries as DELIVERED, but at most 10 s. Return the
        number of deliveries that it shows as DELIVERED."""
        deadline = time.monotonic() + 10
        while True:
            count = 0
            async for delivery in self.client.destinations.deliveries(destination):
                count += delivery["status"] == "DELIVERED" and delivery["originKind"] == "NORMAL"
            if count >= expected or time.monotonic() > deadline:
                return count
            await trio.sleep(0.2)

    # --- the second part

    async def failing_receiver(self) -> None:
        tally = DemoTally(ORDERED_EVENTS)
        inbox = Inbox(tally, outage_s=OUTAGE_S)
        async with trio.open_nursery() as nursery:
            sockets = await listen("127.0.0.1", 0)
            nursery.start_soon(receive, sockets, inbox.respond)
            address = f"http://127.0.0.1:{port_of(sockets)}/hooks"
            self.screen.say(
                f"\n[bold]2. A receiver that fails for {OUTAGE_S:g} s[/bold], at {address}"
            )
            options = {"ordering": "STRICT", "retrySchedule": ORDERED_SCHEDULE}
            destination = await self.destination("failing", address, inbox, options)
            await self.rule(destination, "ledger", "ledger.*")
            self.screen.say(
                f"   ordering STRICT, retries after {ORDERED_SCHEDULE[:4]}... s; now "
                f"{ORDERED_EVENTS} events, which must arrive in order"
            )
            first = ""
            async with self.screen.watching(tally):
                for number in range(ORDERED_EVENTS):
                    event = self.event("ledger.entry", number)
                    tally.sent(number, time.monotonic())
                    answer = await self.client.events.send(event["eventType"], event["payload"])
                    tally.accepted += 1
                    first = first or answer["id"]
                await self.wait_complete(inbox)
            nursery.cancel_scope.cancel()
        self.judge(tally, in_order=True)
        attempts = await self.attempts_of(first)
        if tally.failures == 0 or attempts < 2:
            self.problems.append("the failed attempts were not recorded")
        self.screen.say(
            f"   {tally.failures} attempts failed on purpose, {len(tally.order)} events arrived in "
            f"order; the first one took {attempts} attempts, all of them recorded"
        )

    async def attempts_of(self, event: str) -> int:
        attempts = 0
        with trio.move_on_after(10):
            while True:
                async for delivery in self.client.events.deliveries(event):
                    attempts = delivery["attemptCount"]
                    if delivery["status"] == "DELIVERED":
                        return attempts
                await trio.sleep(0.2)
        return attempts

    # --- shared by both parts

    def event(self, kind: str, number: int) -> EventInput:
        payload: dict[str, Any] = {"number": number, "note": "a parcel for the demo"}
        return {"eventType": f"demo.{self.run}.{kind}", "payload": payload}

    async def destination(
        self, name: str, address: str, inbox: Inbox, options: dict[str, Any]
    ) -> Destination:
        try:
            created = await self.client.destinations.create(
                f"demo {self.run} {name}", address, delivery=options
            )
        except angarium.ApiError as error:
            if "ANGARIUM_EGRESS_ALLOW" in str(error):
                raise Trouble(REFUSED) from error
            raise
        self.destinations.append(created["id"])
        inbox.secrets.append(created.get("secret") or "")
        return created

    async def rule(self, destination: Destination, name: str, pattern: str) -> None:
        types = [f"demo.{self.run}.{pattern}"]
        rule = await self.client.routing_rules.create(
            f"demo {self.run} {name}", destination["id"], types
        )
        self.rules.append(rule["id"])

    async def wait_complete(self, inbox: Inbox) -> None:
        """Wait until every event has arrived. Stop waiting when no webhook has arrived for `QUIET_S`."""
        while not inbox.tally.complete:
            inbox.moved = trio.Event()
            with trio.move_on_after(QUIET_S) as quiet:
                await inbox.moved.wait()
            if quiet.cancelled_caught:
                return

    def judge(self, tally: DemoTally, *, in_order: bool) -> None:
        for problem in tally.problems(in_order=in_order):
            self.problems.append(problem)
            self.screen.say(f"   [red]{problem}[/red]")
