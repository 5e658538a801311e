"""A client that openapi-python-client makes of the document runs the tutorial against a whole server."""

import importlib
import json
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
import trio

from api.table import openapi_json
from storage.bridge import Bridge
from tests.service.house import ServiceHouse, open_service
from tests.service.receiver import Receiver, open_receiver

PACKAGE = "angarium_generated"


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


async def test_a_generated_client_runs_the_tutorial(
    package: str, house: ServiceHouse, receiver: Receiver
) -> None:
    api = await house.caller(await house.tenant("acme"))
    key = api._headers["Authorization"].removeprefix("Bearer ")
    host, port = house.door.address
    generated = Generated(package, f"http://{host}:{port}", key)
    models = generated.models
    async with generated.client:
        made = await generated.call(
            "destinations.create_destination",
            body=models.DestinationDraft.from_dict(
                {
                    "name": "Orders",
                    "url": receiver.url("/hooks"),
                    "delivery": {"ordering": "KEY", "retrySchedule": [1, 5, 30]},
                }
            ),
        )
        assert made.secret.startswith("whsec_")
        assert made.status is models.DestinationStatus.ACTIVE
        rule = models.RuleDraft(
            name="All about orders", destination_id=made.id, event_types=["order.*"]
        )
        assert (await generated.call("routing_rules.create_routing_rule", body=rule)).enabled
        event = models.EventInput.from_dict(
            {
                "eventType": "order.created",
                "payload": {"order": 42, "total": "19.90"},
                "customerExternalId": "acme",
                "idempotencyKey": "order-42-created",
            }
        )
        sent = await generated.call("events.ingest_event", body=event)
        again = await generated.call("events.ingest_event", body=event)
        assert (sent.deliveries, sent.duplicate) == (1, False)
        assert (again.id, again.duplicate) == (sent.id, True)
        (request,) = await receiver.reaches(1)
        assert request.json["data"] == {"order": 42, "total": "19.90"}
        with trio.fail_after(10):
            while True:
                page = await generated.call("deliveries.list_deliveries_of_event", sent.id)
                (item,) = page.items
                if item.status is models.DeliveryStatus.DELIVERED:
                    break
                await trio.sleep(0.01)
        delivery = await generated.call("deliveries.get_delivery", item.id)
        assert [attempt.response_status for attempt in delivery.attempts] == [204]
        health = await generated.call("destinations.get_destination_health", made.id)
        assert health.circuit.state.value == "CLOSED"
        nobody = await generated.call(
            "deliveries.get_delivery", "01939b2e-7d4c-7a80-b3c1-5f0e8d2a6b10"
        )
        assert (type(nobody), nobody.code.value) == (models.Error, "not_found")


def test_the_generated_client_has_every_operation(package: str) -> None:
    document = json.loads(openapi_json())
    count = sum(len(operations) for operations in document["paths"].values())
    root = Path(str(importlib.import_module(package).__file__)).parent
    modules = [path for path in (root / "api").glob("*/*.py") if path.name != "__init__.py"]
    assert len(modules) == count
