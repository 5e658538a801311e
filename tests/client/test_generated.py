"""A client that openapi-python-client makes of the document runs the tutorial against a whole server."""

import importlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio

from api.table import openapi_json
from engine.core.vocabulary import Environment, Scope
from storage.database.bridge import Bridge
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, open_service
from tests.service.receiver import Receiver, open_receiver

PACKAGE = "angarium_generated"
NOBODY = "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"  # an id that nothing has


@pytest.fixture(scope="module")
def package(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The generated package, importable for as long as the module's tests run."""
    folder = tmp_path_factory.mktemp("generated")
    (folder / "openapi.json").write_bytes(openapi_json())
    (folder / "config.yaml").write_text("post_hooks: []\n")  # nothing to format or fetch
    program = Path(sys.executable).with_name("openapi-python-client")
    done = subprocess.run(
        [
            *(str(program), "generate", "--path", "openapi.json", "--output-path", PACKAGE),
            *("--meta", "none", "--config", "config.yaml", "--fail-on-warning"),
        ],
        cwd=folder,
        capture_output=True,
        check=False,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    sys.path.insert(0, str(folder))
    yield PACKAGE
    sys.path.remove(str(folder))
    for name in [name for name in sys.modules if name.partition(".")[0] == PACKAGE]:
        del sys.modules[name]


@pytest.fixture
async def house(bridge: Bridge) -> AsyncIterator[ServiceHouse]:
    """A server on a fresh database."""
    async with open_service(bridge) as house:
        yield house


@pytest.fixture
async def receiver() -> AsyncIterator[Receiver]:
    """A receiver that answers 204."""
    async with open_receiver() as receiver:
        yield receiver


class Generated:
    """The generated package with a key."""

    def __init__(self, package: str, url: str, key: str) -> None:
        self._package = package
        self.models: ModuleType = self._module("models")
        self.client = self._module("client").AuthenticatedClient(base_url=url, token=key)

    def _module(self, name: str) -> Any:
        return importlib.import_module(f"{self._package}.{name}")

    async def call(self, operation: str, *path: Any, **given: Any) -> Any:
        """Call an operation, such as `destinations.create_destination`; return its parsed answer."""
        return await self._module(f"api.{operation}").asyncio(*path, client=self.client, **given)


@pytest.fixture
async def generated(package: str, house: ServiceHouse) -> AsyncIterator[Generated]:
    """The generated client with a key that may do everything."""
    made = await house.keys.create(
        await house.tenant("acme"), Scope.MANAGE, Environment.DEVELOPMENT, "the tutorial's"
    )
    host, port = house.door.address
    generated = Generated(package, f"http://{host}:{port}", made.secret)
    async with generated.client:
        yield generated


async def eventually(ask: Callable[[], Awaitable[Any]], condition: Callable[[Any], bool]) -> Any:
    """Ask until the answer is as expected; return it. For what nobody announces."""
    with trio.fail_after(HANGS_S):
        while not condition(found := await ask()):  # noqa: ASYNC110 - a server sets no event here
            await trio.sleep(0.01)
    return found


async def test_a_generated_client_sends_an_event_and_reads_what_became_of_it(
    generated: Generated, receiver: Receiver
) -> None:
    models, call = generated.models, generated.call
    draft = {
        "name": "Orders",
        "url": receiver.url("/hooks"),
        "delivery": {"ordering": "KEY", "retrySchedule": [1, 5, 30]},
    }
    made = await call(
        "destinations.create_destination", body=models.DestinationDraft.from_dict(draft)
    )
    assert made.secret.startswith("whsec_")
    assert made.status is models.DestinationStatus.ACTIVE
    rule = models.RuleDraft(
        name="All about orders", destination_id=made.id, event_types=["order.*"]
    )
    ruled = await call("routing_rules.create_routing_rule", body=rule)
    assert isinstance(ruled, models.RoutingRule), ruled
    assert ruled.enabled
    event = models.EventInput.from_dict(
        {
            "eventType": "order.created",
            "payload": {"order": 42, "total": "19.90"},
            "customerExternalId": "acme",
            "idempotencyKey": "order-42-created",
        }
    )
    sent = await call("events.ingest_event", body=event)
    again = await call("events.ingest_event", body=event)
    assert (sent.deliveries, sent.duplicate) == (1, False)
    assert (again.id, again.duplicate) == (sent.id, True)
    (request,) = await receiver.reaches(1)
    assert request.json["data"] == {"order": 42, "total": "19.90"}
    page = await eventually(
        lambda: call("deliveries.list_deliveries_of_event", sent.id),
        lambda page: page.items[0].status is models.DeliveryStatus.DELIVERED,
    )
    delivery = await call("deliveries.get_delivery", page.items[0].id)
    assert [attempt.response_status for attempt in delivery.attempts] == [204]
    health = await call("destinations.get_destination_health", made.id)
    assert health.circuit.state.value == "CLOSED"
    nobody = await call("deliveries.get_delivery", NOBODY)
    assert (type(nobody), nobody.code.value) == (models.Error, "not_found")


async def test_a_generated_client_filters_checks_retries_and_replays(
    generated: Generated, receiver: Receiver
) -> None:
    models, call = generated.models, generated.call
    receiver.answer = lambda _: 500
    draft = {"name": "Billing", "url": receiver.url(), "delivery": {"retrySchedule": []}}
    made = await call(
        "destinations.create_destination", body=models.DestinationDraft.from_dict(draft)
    )
    rule = models.RuleDraft(
        name="Large invoices",
        destination_id=made.id,
        event_types=["invoice.*"],
        filter_="event.payload.total > 100",
    )
    await call("routing_rules.create_routing_rule", body=rule)
    invoice = {"eventType": "invoice.created", "payload": {"total": 250}}
    preview = models.PreviewInput.from_dict({"event": invoice})
    shown = await call("routing_rules.preview_routing_rules", body=preview)
    assert [reached.destination_id for reached in shown.destinations] == [made.id]
    document = {"type": "object", "required": ["total"]}
    schema = await call(
        "event_schemas.create_schema",
        body=models.SchemaDraft.from_dict({"eventType": "invoice.created", "schema": document}),
    )
    active = await call("event_schemas.activate_schema", schema.id, body=models.Empty())
    assert active.status is models.SchemaStatus.ACTIVE
    wrong = models.EventInput.from_dict({**invoice, "payload": {"totl": 250}})
    assert (await call("events.ingest_event", body=wrong)).code.value == "schema_violation"
    await call("events.ingest_event", body=models.EventInput.from_dict(invoice))
    await eventually(lambda: call("dead_letter_queue.list_dlq"), lambda page: len(page.items) == 1)
    receiver.answer = lambda _: 204
    which = models.DlqSelection.from_dict({"destinationId": str(made.id)})
    assert (await call("dead_letter_queue.retry_dlq", body=which)).retried == 1
    await receiver.reaches(2)
    await eventually(
        lambda: call("deliveries.list_deliveries"),
        lambda page: page.items[0].status is models.DeliveryStatus.DELIVERED,
    )
    job = await call(
        "replay_jobs.create_replay_job",
        body=models.ReplayDraft.from_dict({"destinationId": str(made.id)}),
    )
    done = await eventually(
        lambda: call("replay_jobs.get_replay_job_progress", job.id),
        lambda progress: progress.status is models.ReplayStatus.COMPLETED,
    )
    assert (done.total, done.delivered) == (1, 1)
    first, second, replayed = await receiver.reaches(3)
    assert first.body == second.body == replayed.body


def test_the_generated_client_has_every_operation(package: str) -> None:
    document = json.loads(openapi_json())
    count = sum(len(operations) for operations in document["paths"].values())
    root = Path(str(importlib.import_module(package).__file__)).parent
    modules = [path for path in (root / "api").glob("*/*.py") if path.name != "__init__.py"]
    assert len(modules) == count
