"""The client library against a whole server: its README as written, and behavior that needs a server."""

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, TypeVar

import pytest
import trio

import angarium
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination
from tests.service.receiver import Received, Receiver

README = Path(__file__).parent.parent.parent / "clients/python/README.md"
Result = TypeVar("Result")


class Program:
    """A program that uses the synchronous client in its own thread."""

    def __init__(self, house: ServiceHouse, secret: str) -> None:
        self.url = f"http://127.0.0.1:{house.door.address[1]}"
        self.secret = secret

    async def run(self, use: Callable[[angarium.Client], Result]) -> Result:
        def work() -> Result:
            with angarium.Client(self.url, self.secret, trust_env=False) as client:
                return use(client)

        with trio.fail_after(HANGS_S):
            return await trio.to_thread.run_sync(work)


@pytest.fixture
async def program(house: ServiceHouse, tenant: Tenant) -> Program:
    made = await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "a program's")
    return Program(house, made.secret)


async def test_the_readmes_examples_run_as_they_stand(
    program: Program, receiver: Receiver, house: ServiceHouse, tenant: Tenant
) -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", README.read_text(), re.M | re.S)
    assert len(blocks) == 8
    script = "\n".join(blocks)
    script = script.replace("http://127.0.0.1:8080", program.url)
    script = script.replace("ang_dev_...", program.secret)
    script = script.replace("https://example.com/hooks", receiver.url())
    names: dict[str, Any] = {"print": lambda *_: None}
    with trio.fail_after(HANGS_S):
        await trio.to_thread.run_sync(exec, compile(script, str(README), "exec"), names)
    assert await names["count_failed"]() == 0
    requests = await receiver.reaches(1)
    names["receive"](requests[0].body, requests[0].headers)
    names["client"].close()


def test_the_readme_lists_every_method_and_no_other() -> None:
    client = angarium.Client("http://127.0.0.1:1", "none")
    rows = dict(re.findall(r"^\| `(client\S*)` \| (.*) \|$", README.read_text(), re.M))
    groups = {f"client.{name}": getattr(client, name) for name in vars(client) if name[0] != "_"}
    assert set(rows) == {*groups, "client"}
    for name, listed in rows.items():
        methods = set(re.findall(r"`(\w+)`", listed))
        if name == "client":
            assert all(callable(getattr(client, method)) for method in methods)
        else:
            assert methods == {m for m in dir(groups[name]) if m[0] != "_"}, name
    client.close()


async def test_both_clients_do_the_same(
    program: Program, api: Caller, receiver: Receiver, house: ServiceHouse
) -> None:
    await destination(api, receiver.url())
    ids = await program.run(
        lambda client: [client.events.send("a.b", {"n": n})["id"] for n in range(3)]
    )
    async with angarium.AsyncClient(program.url, program.secret, trust_env=False) as client:
        assert [event["id"] async for event in client.events.iterate()] == ids[::-1]
        for event in ids:
            (delivery,) = [each async for each in client.events.deliveries(event)]
            detail = await client.deliveries.get(delivery["id"])
            assert detail["event"] is not None
            assert detail["event"]["id"] == event
    listed = await program.run(lambda client: [e["id"] for e in client.events.iterate()])
    assert listed == ids[::-1]


async def test_what_is_delivered_is_genuine_and_what_was_changed_is_not(
    program: Program, receiver: Receiver
) -> None:
    def prepare(client: angarium.Client) -> list[str]:
        made = client.destinations.create("d", receiver.url())
        client.routing_rules.create("r", made["id"], ["*"])
        rotated = client.destinations.rotate_secret(made["id"])
        client.events.send("a.b", {"n": 1})
        return [str(made["secret"]), str(rotated["secret"])]

    secrets = await program.run(prepare)
    (request,) = await receiver.reaches(1)
    for secret in secrets:
        assert angarium.verify(request.body, request.headers, secret)["data"] == {"n": 1}
    with pytest.raises(angarium.VerificationError):
        angarium.verify(request.body.replace(b"1", b"2"), request.headers, secrets)


async def test_an_ed25519_destination_is_verified_by_its_public_key(
    program: Program, receiver: Receiver
) -> None:
    def prepare(client: angarium.Client) -> str:
        made = client.destinations.create("d", receiver.url(), signing={"algorithm": "ED25519"})
        client.routing_rules.create("r", made["id"], ["*"])
        client.events.send("a.b", {})
        return made["signing"]["publicKey"]

    public_key = await program.run(prepare)
    (request,) = await receiver.reaches(1)
    assert angarium.verify(request.body, request.headers, public_key)["type"] == "a.b"


async def test_pages_are_followed_to_the_end(program: Program) -> None:
    def use(client: angarium.Client) -> tuple[int, int]:
        events: Iterator[Any] = ({"eventType": "a.b", "payload": {}} for _ in range(250))
        accepted = client.events.send_batch(events)["accepted"]
        return accepted, len({event["id"] for event in client.events.iterate()})

    assert await program.run(use) == (250, 250)


async def test_a_rate_limit_that_is_used_up_is_raised_with_the_wait(
    house: ServiceHouse, program: Program
) -> None:
    tenant = await house.tenant("small", "free")
    made = await house.keys.create(tenant, Scope.READ, Environment.DEVELOPMENT, "small")
    small = Program(house, made.secret)

    def exhaust(_: angarium.Client) -> angarium.RateLimitedError:
        impatient = angarium.RetryPolicy(retries=0)
        with angarium.Client(small.url, small.secret, retry=impatient, trust_env=False) as client:
            while True:
                try:
                    client.auth_context()
                except angarium.RateLimitedError as error:
                    return error

    error = await small.run(exhaust)
    assert error.code == "rate_limited"
    assert error.retry_after_s is not None
    assert 0 < error.retry_after_s <= 60


async def test_an_answer_that_is_lost_makes_no_second_event(
    program: Program, house: ServiceHouse, receiver: Receiver, api: Caller
) -> None:
    """The connection breaks before the answer to each new request. The client repeats the request with
    the same key."""
    await destination(api, receiver.url())
    cut: set[bytes] = set()
    port = int(program.url.rpartition(":")[2])

    async def forward(stream: trio.SocketStream) -> None:
        async with stream, await trio.open_tcp_stream("127.0.0.1", port) as server:
            request = await stream.receive_some()
            while b"idempotencyKey" not in request:
                request += await stream.receive_some()
            await server.send_all(request)
            answer = await server.receive_some()
            key = request.partition(b'"idempotencyKey": "')[2][:36]
            if key in cut:
                await stream.send_all(answer)
            cut.add(key)

    async with trio.open_nursery() as nursery:
        (listener,) = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, forward, [listener])
        program.url = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        accepted = await program.run(lambda client: client.events.send("a.b", {}))
        nursery.cancel_scope.cancel()
    assert accepted["duplicate"] is True
    requests: list[Received] = await receiver.reaches(1)
    assert [request.event for request in requests] == [accepted["id"]]
