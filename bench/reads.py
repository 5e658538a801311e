"""The control plane's reads of large tables: every list, filter and view.

Each read takes turns with `GET /livez`, the cheapest request. The allowed duration of a read is a
multiple of the duration of `GET /livez`.
"""

import http.client
import json
import math
import re
import statistics
import time
from typing import Any

from bench.checks import require
from bench.filling import Filled, fill
from bench.service import Figures, Receiver, Service

BAR = 15.0  # the most p99 of a read, in multiples of the p50 of /livez
HELD_FROM = 100_000  # deliveries; with fewer, pauses of the machine dominate
WARM = 20
_SHORT = re.compile(r"[0-9a-f]{8}-[0-9a-f-]{27}|(?<=cursor=)\S+")  # IDs and cursors
DESTINATIONS = 50


class Client:
    """One persistent connection."""

    def __init__(self, service: Service) -> None:
        self._connection = http.client.HTTPConnection("127.0.0.1", service.port, timeout=60)
        self._headers = {"Authorization": f"Bearer {service.key}"}

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()

    def get(self, path: str) -> tuple[float, Any]:
        """Return the duration of a request in milliseconds, and the JSON of its answer."""
        began = time.perf_counter()
        self._connection.request("GET", path, headers=self._headers)
        answer = self._connection.getresponse()
        body = answer.read()
        took = (time.perf_counter() - began) * 1000
        require(answer.status == 200, f"GET {path}: {answer.status} {body[:300]!r}")
        return took, json.loads(body)


def reads(
    service: Service, receiver: Receiver, *, deliveries: int, days: int, requests: int
) -> Figures:
    """Fill the tables, then measure each read."""
    filled = destinations(service, receiver)
    began = time.monotonic()
    fill(service.folder, filled, deliveries, days)
    filling_s = time.monotonic() - began
    client = Client(service)
    figures: Figures = {"deliveries": deliveries, "fillingSeconds": round(filling_s, 1)}
    worst = 0.0
    alive: list[float] = []
    measured: dict[str, list[float]] = {}
    for path in _paths(client, filled):
        for _ in range(min(WARM, requests)):
            client.get("/livez")
            client.get(path)
        took = measured[path] = []
        for _ in range(requests):
            alive.append(client.get("/livez")[0])
            took.append(client.get(path)[0])
    client.close()
    base = statistics.median(alive)
    views = 0.0
    figures["livezP50Ms"] = round(base, 2)
    alive.sort()  # its p99 includes pauses of the machine
    figures["livezP99Ms"] = round(alive[math.ceil(len(alive) * 0.99) - 1], 2)
    for path, took in measured.items():
        took.sort()
        p50, p99 = statistics.median(took), took[math.ceil(len(took) * 0.99) - 1]
        if "/analytics" in path:  # a view, not a list: 30 days by the hour are 720 points
            views = max(views, p99 / base)
        else:
            worst = max(worst, p99 / base)
        figures[_SHORT.sub("..", path)] = f"p50 {p50:.2f}, p99 {p99:.2f} ms, {p99 / base:.1f} x"
    figures["worstTimesLivez"] = round(worst, 1)
    figures["worstViewTimesLivez"] = round(views, 1)
    if deliveries >= HELD_FROM:
        require(worst <= BAR, f"p99 is {worst:.1f} times the p50 of /livez: {figures}")
    return figures


def destinations(service: Service, receiver: Receiver) -> Filled:
    """Create the destinations for a filled log."""
    made = [
        service.destination(f"{receiver.url}/hook/{number}", [f"bench.{number}"])
        for number in range(DESTINATIONS)
    ]
    context = service.api("GET", "/auth/context")
    # 1 is the first workspace's DEVELOPMENT environment.
    return Filled(context["workspaceId"], 1, made)


def _paths(client: Client, filled: Filled) -> list[str]:
    destination = filled.destinations[0]
    middle = "2020-01-01T00:00:00Z", _ago(15), _ago(1)
    _, page = client.get("/deliveries?limit=100")
    delivery, event = page["items"][0]["id"], page["items"][0]["eventId"]
    entry = client.get("/audit-logs?limit=1")[1]["items"][0]
    dead = client.get("/dlq?limit=1")[1]["items"]
    filters = [
        "", "status=DELIVERED", "status=FAILED", "status=RETRYING", "status=PENDING", "status=DELIVERING",
        "isReplay=true", "isReplay=false", "errorCategory=TIMEOUT", "priority=HIGH", "priority=CRITICAL",
        "dlqStatus=IN_DLQ", "dlqStatus=DISCARDED", "dlqStatus=RETRIED_FROM_DLQ", "kind=EVENT",
        "kind=FILE",
        "originKind=REPLAY", "originKind=INSPECTION", f"destinationId={destination}", f"eventId={event}",
        f"from={middle[1]}", f"to={middle[1]}", f"from={middle[1]}&to={middle[2]}",
        f"destinationId={destination}&status=FAILED", f"destinationId={destination}&to={middle[1]}",
        f"destinationId={destination}&errorCategory=DNS&from={middle[0]}",
        "status=FAILED&errorCategory=TLS&priority=HIGH", "priority=HIGH&isReplay=true&kind=EVENT",
        "limit=100", f"limit=100&cursor={page['nextCursor']}",
    ]  # fmt: skip
    paths = [f"/deliveries?{each}" for each in filters]
    paths += [
        f"/deliveries/{delivery}", f"/events/{event}/deliveries",
        f"/destinations/{destination}/deliveries",
        "/events", "/events?limit=100", "/events?eventType=bench.7", "/events?customerExternalId=c7",
        f"/events?eventType=bench.7&customerExternalId=c7&to={middle[1]}", "/events?eventType=nothing",
        f"/events/{event}",
        "/dlq", "/dlq?limit=100", f"/dlq?destinationId={destination}", "/dlq?errorCategory=TIMEOUT",
        "/dlq?eventType=bench.7", f"/dlq?destinationId={destination}&eventType=bench.7&to={middle[1]}",
        "/audit-logs", "/audit-logs?limit=100", "/audit-logs?action=destination.archive",
        f"/audit-logs?objectId={destination}", "/audit-logs?objectType=destination",
        "/audit-logs?actorId=key+7", f"/audit-logs?actorId=key+7&objectId={destination}&to={middle[1]}",
        "/audit-logs?action=nothing", f"/audit-logs?from={middle[1]}&to={middle[2]}",
        f"/audit-logs/{entry['id']}",
        "/schemas", "/schemas?limit=100", "/schemas?status=DRAFT", "/schemas?status=ACTIVE",
        "/schemas?eventType=schema.7", "/schemas/types/schema.7/versions",
        "/replay-jobs", "/replay-jobs?limit=100", "/replay-jobs?status=COMPLETED",
        "/replay-jobs?status=RUNNING",
        "/destinations", "/destinations?status=DISABLED", f"/destinations/{destination}",
        "/routing-rules",
        f"/routing-rules?destinationId={destination}", "/api-keys",
        f"/destinations/{destination}/health", "/observability/throughput?environment=DEVELOPMENT",
    ]  # fmt: skip
    paths += [f"/dlq/{item['id']}" for item in dead]
    paths += [
        f"/destinations/{destination}/analytics?period={period}"
        for period in ("1h", "6h", "24h", "7d", "30d")
    ]
    paths.append(f"/destinations/{destination}/analytics?period=30d&granularity=hour")
    return paths


def _ago(days: int) -> str:
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(time.time() - days * 86_400))
