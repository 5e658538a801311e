"""A server whose customer has objects of every kind, and another site's page that embeds the portal."""

import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.browser.town import EXACT, LONG, MARKUP
from tests.process.house import House, until
from tests.process.receiver import Answer, Receiver, always

HOST = Path(__file__).parents[2] / "docs" / "examples" / "portal_host.py"
LARGE = 255 * 1024  # the size of a payload in bytes, near the limit of 256 KiB
CUSTOMER = "ada"


class Yard:
    """`ids` maps names to ids."""

    def __init__(self, house: House, receiver: Receiver) -> None:
        self.house, self.receiver = house, receiver
        self.ids: dict[str, str] = {}
        context = house.api("GET", "/auth/context")
        self.workspace = str(context["workspaceId"])
        self.url = house.url

    def token(self, customer: str = CUSTOMER) -> str:
        made = self.house.api(
            "POST", "/embed/sessions", {"customerExternalId": customer, "ttlSeconds": 900}
        )
        self.house.secrets.append(made["token"])
        return str(made["token"])

    def build(self) -> None:
        """Create the customers' endpoints and their deliveries."""
        self.receiver.behave("/broken", always(Answer(500)))
        self.token()
        self.token("bob")
        once: dict[str, object] = {"retrySchedule": []}
        self._endpoint("Orders", "/orders", CUSTOMER)
        self._endpoint("Broken", "/broken", CUSTOMER, delivery=once)
        self._endpoint(LONG[:250].strip(), "/long", CUSTOMER, kind="never.*")
        self._endpoint("Of Bob", "/bob", "bob")
        schema = {
            "eventType": "order.paid",
            "schema": {"type": "object", "properties": {"total": {"type": "number"}}},
            "description": "A paid order. " * 20,
            "example": {"total": 42},
        }
        version = self.house.api("POST", "/schemas", schema)
        self.house.api("POST", f"/schemas/{version['id']}/activate", {})
        for number in range(12):
            self._event(CUSTOMER, {"total": number, "exact": EXACT, "note": MARKUP})
        self.ids["large"] = self._event(CUSTOMER, {"total": 1, "text": "x" * LARGE})
        self._event("bob", {"total": 1})
        orders, broken = self.ids["Orders"], self.ids["Broken"]
        dead = f"/deliveries?dlqStatus=IN_DLQ&destinationId={broken}"
        until(lambda: len(self.house.api("GET", dead)["items"]) == 13, "all are dead")
        done = f"/deliveries?status=DELIVERED&destinationId={orders}"
        until(lambda: len(self.house.api("GET", done)["items"]) == 13, "all are delivered")
        self.ids["dead"] = str(self.house.api("GET", dead)["items"][-1]["id"])
        items = self.house.api("GET", done)["items"]
        self.ids["delivered"] = str(items[-1]["id"])
        self.ids["huge"] = next(
            str(each["id"]) for each in items if each["eventId"] == self.ids["large"]
        )
        bob = f"/deliveries?destinationId={self.ids['Of Bob']}"
        until(lambda: self.house.api("GET", bob)["items"], "Bob has a delivery")
        self.ids["bobs"] = str(self.house.api("GET", bob)["items"][0]["id"])

    def _endpoint(self, name: str, path: str, customer: str, kind: str = "*", **more: Any) -> None:
        body = {
            "name": name,
            "url": self.receiver.url + path,
            "customerExternalId": customer,
            **more,
        }
        made = self.house.api("POST", "/destinations", body)
        self.house.secrets.append(made["secret"])
        self.ids[name] = str(made["id"])
        rule = {"name": "All", "destinationId": made["id"], "eventTypes": [kind]}
        self.house.api("POST", "/routing-rules", rule)

    def _event(self, customer: str, payload: object) -> str:
        body = {"eventType": "order.paid", "payload": payload, "customerExternalId": customer}
        told = self.house.ask("POST", "/events", body)
        assert told.status == 202, told
        return str(told.body["id"])

    def allow(self, *denied: str, **settings: Any) -> None:
        """Allow customers all actions except the `denied` actions, and change other settings of the
        workspace.
        """
        may = {name: name not in denied for name in ABILITIES}
        self.house.api("PATCH", "/workspace", {"customerMay": may, **settings})


ABILITIES = (
    "createDestinations",
    "editDestinations",
    "switchDestinations",
    "archiveDestinations",
    "testDestinations",
    "editHeaders",
    "editDeliveryOptions",
    "rotateSecrets",
    "manageRules",
    "manageTransforms",
    "retryDeliveries",
    "discardDeliveries",
    "replay",
    "viewPayloads",
)


@contextmanager
def host_page(yard: Yard) -> Iterator[str]:
    """Run the documentation's example."""
    environment = {
        **os.environ,
        "ANGARIUM_URL": yard.url,
        "ANGARIUM_KEY": yard.house.key,
        "WORKSPACE": yard.workspace,
        "CUSTOMER": CUSTOMER,
        "PORT": "0",
    }
    with subprocess.Popen(
        [sys.executable, str(HOST)], env=environment, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        try:
            yield process.stdout.readline().strip()
        finally:
            process.terminate()
