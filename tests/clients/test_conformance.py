"""The common behavior of all client libraries, with a real server and with scripted answers."""

import json
import re
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

from deploy.typescript import COMPILER, PROJECT
from engine.core.vocabulary import Environment, Scope
from engine.model.configuration import Tenant
from tests.clients.drivers import Driver, Open, built, python_driver, script_driver
from tests.patience import HANGS_S
from tests.service.conftest import house, receiver, tenant
from tests.service.house import LOOK_EVERY_S, ServiceHouse
from tests.service.receiver import Receiver

__all__ = ["house", "receiver", "tenant"]
NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
SECRET = "whsec_a2tra2tra2tra2tra2tra2tra2tra2tra2tra2tra2s="
LANGUAGES = ("python", "typescript")
# Definitions that the README's examples leave to their readers.
GLOBALS = "declare const process: { env: Record<string, string> };\n"
KNOWN = """
import type { Angarium } from "angarium";
declare const angarium: Angarium;
declare const orders: Record<string, unknown>[];
declare function handle(event: unknown): Promise<void>;
"""


def test_the_readme_of_the_typescript_client_is_typed(tmp_path: Path) -> None:
    examples = re.findall(r"```ts\n(.*?)```", (PROJECT / "README.md").read_text("utf-8"), re.DOTALL)
    assert len(examples) == 3
    build = built(tmp_path / "angarium").parent
    (tmp_path / "globals.d.ts").write_text(GLOBALS)
    for number, example in enumerate(examples):
        known = "" if "new Angarium(" in example else KNOWN
        (tmp_path / f"example{number}.mts").write_text(known + example)
    settings = {
        "strict": True,
        "noEmit": True,
        "target": "es2022",
        "module": "nodenext",
        "types": [],
    }
    paths = {
        "angarium": [str(build / "index.d.ts")],
        "angarium/receiver": [str(build / "receiver.d.ts")],
    }
    project: dict[str, Any] = {"include": [str(tmp_path / "*.mts"), str(tmp_path / "globals.d.ts")]}
    project["compilerOptions"] = {
        **settings,
        "paths": paths,
        "lib": ["es2023", "dom", "dom.asynciterable"],
    }
    (tmp_path / "tsconfig.json").write_text(json.dumps(project))
    said = subprocess.run([COMPILER, "-p", tmp_path], capture_output=True, text=True)
    assert said.returncode == 0, said.stdout


@pytest.fixture(scope="session")
def module(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built(tmp_path_factory.mktemp("typescript"))


@pytest.fixture(params=LANGUAGES)
def opened(request: pytest.FixtureRequest) -> Open:
    if request.param == "python":
        return python_driver
    return script_driver(request.getfixturevalue("module"), "node")


@asynccontextmanager
async def client_of(house: ServiceHouse, tenant: Tenant, opened: Open) -> AsyncIterator[Driver]:
    made = await house.keys.create(tenant, Scope.MANAGE, Environment.DEVELOPMENT, "a client's")
    house.issued.credential(made.secret)
    async with opened(f"http://127.0.0.1:{house.door.address[1]}", made.secret) as driver:
        yield driver


async def test_what_is_made_is_listed_changed_and_archived(
    house: ServiceHouse, tenant: Tenant, receiver: Receiver, opened: Open
) -> None:
    async with client_of(house, tenant, opened) as client:
        draft = {"name": "Orders", "url": receiver.url(), "delivery": {"concurrency": 3}}
        made = (await client("destinations.create", fields=draft))["value"]
        assert made["delivery"]["concurrency"] == 3
        assert made["secret"].startswith("whsec_")
        shown = (await client("destinations.get", made["id"]))["value"]
        assert shown["name"] == "Orders"
        change = {"name": "Bills", "delivery": {"concurrency": None}}
        changed = (await client("destinations.update", made["id"], fields=change))["value"]
        assert (changed["name"], changed["delivery"]["concurrency"] == 3) == ("Bills", False)
        for number in range(3):
            await client("destinations.create", fields={**draft, "name": f"n{number}"})
        page = (await client("destinations.list", fields={"limit": 2}))["value"]
        assert len(page["items"]) == 2
        assert page["nextCursor"]
        every = (await client("destinations.iterate"))["value"]
        assert {each["name"] for each in every} == {"Bills", "n0", "n1", "n2"}
        assert (await client("destinations.archive", made["id"]))["value"]["success"]
        narrowed = {"status": ["ARCHIVED", "DISABLED"]}
        left = (await client("destinations.list", fields=narrowed))["value"]["items"]
        assert [each["id"] for each in left] == [made["id"]]


async def test_an_uploaded_file_has_the_properties_that_were_given(
    house: ServiceHouse, tenant: Tenant, opened: Open
) -> None:
    stated = {
        "fileName": "order.json", "contentType": "application/json", "fileType": "order",
        "customerExternalId": "ada", "metadata": {"a": [1, "ä"]},
    }  # fmt: skip
    key = {"eventType": "order.file", "idempotencyKey": "k"}
    async with client_of(house, tenant, opened) as client:
        made = await client("files.create", '{"content": "eA=="}', fields={**stated, **key})
        file = (await client("files.get", made["value"]["id"]))["value"]
        assert {name: file[name] for name in stated} == stated
        assert file["sizeBytes"] == 19
        assert not (await client("files.create", "x"))["value"]["duplicate"]


async def test_events_are_sent_once_alone_and_in_batches(
    house: ServiceHouse, tenant: Tenant, receiver: Receiver, opened: Open
) -> None:
    async with client_of(house, tenant, opened) as client:
        draft = {"name": "Orders", "url": receiver.url()}
        target = (await client("destinations.create", fields=draft))["value"]
        rule = {"name": "r", "destinationId": target["id"], "eventTypes": ["order.*"]}
        await client("routingRules.create", fields=rule)
        event = {"eventType": "order.paid", "payload": {"n": 1}, "idempotencyKey": "order-1"}
        first = (await client("events.send", fields=event))["value"]
        again = (await client("events.send", fields=event))["value"]
        assert (first["duplicate"], again["duplicate"], again["id"]) == (False, True, first["id"])
        other = await client("events.send", fields={**event, "payload": {"n": 2}})
        assert (other["error"]["status"], other["error"]["code"]) == (400, "idempotency_mismatch")
        [request] = await receiver.reaches(1)
        genuine = {
            "body": request.body.decode(),
            "headers": request.headers,
            "secret": target["secret"],
            "now": int(request.headers["webhook-timestamp"]),
        }
        assert (await client("verify", fields=genuine))["value"]["data"] == {"n": 1}
        events = [{"eventType": "order.paid", "payload": {"n": number}} for number in range(25)]
        options = {"batchEvents": 10, "bufferEvents": 20}
        sent = await client("produce", fields={"events": events, "options": options})
        assert (sent["value"]["accepted"], sent["value"]["failed"]) == (25, 0)
        await receiver.reaches(26)
        broken = [*events[:2], {"eventType": "no type", "payload": {}}]
        failed = (await client("produce", fields={"events": broken, "options": {}}))["error"]
        assert (failed["name"], failed["failed"]) == ("EventsFailedError", 1)
        delivered: list[Any] = []
        with trio.fail_after(HANGS_S):
            while not delivered:  # the receiver has it shortly before the log shows it
                only = {"status": "DELIVERED", "limit": 1}
                delivered = (await client("deliveries.list", fields=only))["value"]["items"]
                await trio.sleep(LOOK_EVERY_S)
        assert [each["destinationId"] for each in delivered] == [target["id"]]


async def test_a_refusal_names_its_places(
    house: ServiceHouse, tenant: Tenant, opened: Open
) -> None:
    async with client_of(house, tenant, opened) as client:
        draft = {"name": "", "url": "http://example.com"}
        refused = (await client("destinations.create", fields=draft))["error"]
        assert (refused["status"], refused["code"]) == (400, "invalid_request")
        assert {each["path"] for each in refused["details"]} == {"name"}
        assert "(400 invalid_request)" in refused["message"]
        missing = (await client("destinations.get", NOBODY))["error"]
        assert (missing["status"], missing["code"]) == (404, "not_found")
        assert "error" in await client("destinations.get", "..")  # it requests no other path
    async with opened(f"http://127.0.0.1:{house.door.address[1]}", "ang_dev_nobody") as client:
        refused = (await client("authContext"))["error"]
        assert (refused["status"], refused["code"]) == (401, "unauthorized")


# (the server's answers, the method, the result, the number of requests)
REFUSED = {"code": "overloaded", "message": "try again", "requestId": "r"}
ENDED = {"code": "internal", "message": "something broke", "requestId": "r"}
CONTEXT = {"kind": "API_KEY"}
SCRIPTS: dict[str, tuple[list[tuple[int, Any]], str, Any, int]] = {
    "a 503 is asked again": ([(503, REFUSED), (503, REFUSED), (200, CONTEXT)], "authContext", CONTEXT, 3),
    "a 500 is asked again": ([(500, ENDED), (200, CONTEXT)], "authContext", CONTEXT, 2),
    "a 500 of what may be done twice is not": ([(500, ENDED)], "destinations.create", "internal", 1),
    "a 503 of it is, since nothing was done": (
        [(503, REFUSED), (201, {"id": "x"})], "destinations.create", {"id": "x"}, 2,
    ),
    "a 503 of a proxy is asked again": ([(503, {}), (200, CONTEXT)], "authContext", CONTEXT, 2),
    "a 503 of a proxy is not, where that may do it twice": ([(503, {})], "destinations.create", None, 1),
    "an event that has its key is": ([(500, ENDED), (202, {"id": "e"})], "events.send", {"id": "e"}, 2),
    "it gives up after four": ([(503, REFUSED)] * 5, "authContext", "overloaded", 5),
    "a refusal is final": ([(409, {**ENDED, "code": "conflict"})], "authContext", "conflict", 1),
}  # fmt: skip
FIELDS: dict[str, dict[str, Any]] = {
    "authContext": {},
    "destinations.create": {"name": "n", "url": "http://127.0.0.1:1"},
    "events.send": {"eventType": "e.one", "payload": {}},
}


@pytest.mark.parametrize("script", SCRIPTS.values(), ids=list(SCRIPTS))
async def test_calls_are_repeated_where_that_is_safe(
    script: tuple[list[tuple[int, Any]], str, Any, int], opened: Open
) -> None:
    answers, method, result, asked = script
    left = list(answers)
    bodies: list[bytes] = []

    async def serve(stream: trio.SocketStream) -> None:
        while left:
            data = b""
            while b"\r\n\r\n" not in data:
                more = await stream.receive_some()
                if not more:
                    return
                data += more
            head, _, body = data.partition(b"\r\n\r\n")
            length = [
                line for line in head.lower().split(b"\r\n") if line.startswith(b"content-length")
            ]
            while length and len(body) < int(length[0].partition(b":")[2]):
                body += await stream.receive_some()
            bodies.append(body)
            status, document = left.pop(0)
            text = json.dumps(document).encode()
            told = (
                b"HTTP/1.1 %d x\r\ncontent-type: application/json\r\ncontent-length: %d\r\n\r\n%b"
            )
            await stream.send_all(told % (status, len(text), text))

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        address = f"http://127.0.0.1:{listener.socket.getsockname()[1]}"
        async with opened(address, "key") as client:
            given = FIELDS[method]
            told = await client(method, fields=given or None)
        if isinstance(result, str):
            assert told["error"]["code"] == result
        elif result is None:
            assert told["error"]["name"] == "UnexpectedAnswerError"
        else:
            assert told["value"] == result
        assert len(bodies) == asked
        assert len(set(bodies)) == 1, "a repetition is the same request"
        nursery.cancel_scope.cancel()


async def test_an_address_where_nobody_listens_is_a_failed_connection(opened: Open) -> None:
    async with opened("http://127.0.0.1:1", "key") as client:
        failed = (await client("authContext"))["error"]
        assert failed["name"] == "ConnectionFailedError"
        assert "GET /auth/context" in failed["message"]


async def test_an_answer_of_somebody_else_is_unexpected(opened: Open) -> None:
    async def serve(stream: trio.SocketStream) -> None:
        await stream.receive_some()
        await stream.send_all(b"HTTP/1.1 404 x\r\ncontent-length: 4\r\n\r\nnope")

    async with trio.open_nursery() as nursery:
        [listener] = await trio.open_tcp_listeners(0, host="127.0.0.1")
        nursery.start_soon(trio.serve_listeners, serve, [listener])
        port = listener.socket.getsockname()[1]
        async with opened(f"http://127.0.0.1:{port}", "key") as client:
            assert (await client("authContext"))["error"]["name"] == "UnexpectedAnswerError"
        nursery.cancel_scope.cancel()


BODY = '{"type":"order.paid","data":{"n":1}}'
# (the fault, the replaced parts of a genuine webhook)
FORGERIES: dict[str, dict[str, Any]] = {
    "another body": {"body": BODY + " "},
    "another secret": {"secret": "whsec_YWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWFhYWE="},
    "too old": {"now": 1_700_000_301},
    "too new": {"now": 1_699_999_699},
    "no signature": {"headers": {"webhook-id": "m", "webhook-timestamp": "1700000000"}},
    "a signature of no scheme": {"scheme": "v9"},
}


async def test_a_genuine_webhook_is_told_from_a_forged_one(opened: Open) -> None:
    async with opened("http://127.0.0.1:1", "key") as client:
        signing = {"body": BODY, "secret": SECRET, "id": "m", "timestamp": 1_700_000_000}
        signature = (await client("sign", fields=signing))["value"]
        headers = {
            "Webhook-Id": "m",
            "Webhook-Timestamp": "1700000000",
            "Webhook-Signature": f"v1,AAAA {signature}",
        }
        genuine = {"body": BODY, "headers": headers, "secret": SECRET, "now": 1_700_000_000}
        assert (await client("verify", fields=genuine))["value"] == json.loads(BODY)
        for name, replaced in FORGERIES.items():
            forged = {**genuine, **replaced}
            if "scheme" in replaced:
                forged["headers"] = {**headers, "Webhook-Signature": signature.replace("v1", "v9")}
            told = await client("verify", fields=forged)
            assert told.get("error", {}).get("name") == "VerificationError", name
        wrong = await client("verify", fields={**genuine, "secret": "whsec_%"})
        assert wrong["error"]["name"] in ("TypeError", "ValueError")
