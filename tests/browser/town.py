"""A workspace with objects of every kind, for tests of the console and for manual use.

python -m tests.browser.town    # runs a server with this workspace and the console, until Ctrl-C
"""

import signal
import tempfile
import threading
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from tests.browser.assets import Front
from tests.process.house import House, until
from tests.process.receiver import Answer, Receiver, always, failing

LONG = "Zentrale Auftragsverarbeitung für Zahlungseingangsbenachrichtigungen " * 4
MARKUP = '<img src=x onerror="document.title=1">'
EXACT = 123456789012345678901234567890
TYPES = ("order.created", "order.paid", "invoice.finalised", "customer.updated")


class Town:
    """A server, a receiver, and the objects that the tests create on the server. `ids` maps the name of
    an object to its id.
    """

    def __init__(self, house: House, receiver: Receiver) -> None:
        self.house, self.receiver = house, receiver
        self.ids: dict[str, str] = {}

    def destination(self, name: str, path: str, types: list[str], **more: Any) -> str:
        body = {"name": name, "url": self.receiver.url + path, **more}
        made = self.house.api("POST", "/destinations", body)
        self.house.secrets.append(made["secret"])
        self.ids[name] = str(made["id"])
        rule = {"name": f"To {name}"[:200], "destinationId": made["id"], "eventTypes": types}
        self.house.api("POST", "/routing-rules", rule)
        return str(made["id"])

    def build(self) -> None:
        """Create destinations in each state, and their events."""
        once: dict[str, object] = {"retrySchedule": []}
        quick: dict[str, object] = {"retrySchedule": [1, 1, 1]}
        receiver = self.receiver
        receiver.behave("/gone", always(Answer(410)))
        receiver.behave("/broken", always(Answer(500)))
        receiver.behave("/slow", always(Answer(delay_s=0.3)))
        receiver.behave("/shaky", failing(1, 503))
        self.destination("Billing", "/billing", ["invoice.*", "order.paid"])
        self.destination("Warehouse", "/warehouse", ["order.*"], delivery={"concurrency": 2})
        self.destination("Partner API", "/broken", ["order.created"], delivery=once)
        self.destination("Legacy CRM", "/gone", ["customer.*"], delivery=once)
        self.destination("Search index", "/slow", ["order.*"], delivery={"concurrency": 1})
        self.destination("Shaky mirror", "/shaky", ["order.paid"], delivery=quick)
        self.destination(LONG[:250].strip(), "/long", ["never.*"])
        for number in range(10):
            self.destination(f"Region {number + 1}", f"/region/{number}", ["customer.updated"])
        self.house.api(
            "POST",
            "/routing-rules",
            {
                "name": "Large orders",
                "destinationId": self.ids["Billing"],
                "eventTypes": ["order.created"],
                "filter": "event.payload.total > 1000",
            },
        )
        self.events(60)
        self.furnish()
        self.ids["destination"] = self.ids["Partner API"]
        until(lambda: self.first("/deliveries?dlqStatus=IN_DLQ"), "a delivery is dead")
        # A destination disabled by its receiver's 410 gets no requests.
        held = f"/deliveries?status=PENDING&destinationId={self.ids['Legacy CRM']}"
        until(lambda: self.first(held), "a delivery waits")
        self.ids["dead"] = str(self.first("/deliveries?dlqStatus=IN_DLQ"))
        self.ids["waiting"] = str(self.first(held))
        self.ids["event"] = str(self.first("/events?eventType=order.created"))
        self.ids["rule"] = str(self.first("/routing-rules?enabled=true"))

    def first(self, path: str) -> str | None:
        items = self.house.api("GET", path + "&limit=1")["items"]
        return str(items[0]["id"]) if items else None

    def filled(self, path: str) -> str:
        return path.format(**self.ids)

    def furnish(self) -> None:
        """Create two versions of a schema, a script, and a replay."""
        for kind in ("integer", "number"):
            schema = {"type": "object", "properties": {"total": {"type": kind}}}
            body = {"eventType": "order.paid", "schema": schema, "description": "A paid order"}
            version = self.house.api("POST", "/schemas", body)
        self.house.api("POST", f"/schemas/{version['id']}/activate", {})
        source = "function transform(event) {\n  return {...event, shop: 'north'};\n}\n"
        script = {"destinationId": self.ids["Billing"], "name": "Shop", "source": source}
        self.house.api("POST", "/transform-scripts", script)
        replay = {"destinationId": self.ids["Billing"], "from": "2020-01-01T00:00:00Z"}
        self.ids["replay"] = str(self.house.api("POST", "/replay-jobs", replay)["id"])
        self.ids["billing"] = self.ids["Billing"]

    def events(self, count: int) -> None:
        now = int(time.time())
        for number in range(count):
            kind = TYPES[number % len(TYPES)]
            payload = {"n": number, "total": number * 40, "exact": EXACT, "note": MARKUP, "at": now}
            body = {
                "eventType": kind,
                "payload": payload,
                "customerExternalId": f"acme-{number % 7}",
                "correlationId": f"checkout-{number // 3}",
            }
            told = self.house.ask("POST", "/events", body)
            assert told.status == 202, told


def main() -> None:
    """Serve a town until Ctrl-C."""
    with tempfile.TemporaryDirectory(prefix="angarium-town-") as folder:
        house = House(Path(folder) / "data")
        Path(folder).chmod(0o755)
        receiver = Receiver()
        try:
            with house:
                town = Town(house, receiver)
                town.build()
                front = Front(("127.0.0.1", house.port))
                print(f"{front.url}/console  key {house.key}", flush=True)
                signal.signal(signal.SIGTERM, signal.default_int_handler)
                with suppress(KeyboardInterrupt):
                    threading.Event().wait()
                front.close()
        finally:
            receiver.close()


if __name__ == "__main__":
    main()
