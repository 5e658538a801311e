"""Transform scripts: the cost of a delivery with a script compared with a delivery without a script, and
the effect of hostile scripts on other workspaces.
"""

import subprocess
import time

from bench.checks import require
from bench.interleaved import cost, in_turns
from bench.posting import begun, ended, load
from bench.results import Measurement
from bench.service import Figures, Receiver, Service, call

# A message for a chat, totals, a selection of fields, changed names.
SCRIPTS = (
    """
    const { n, sentAt, order } = event.data;
    return { n, sentAt, text: `Order ${order.id}: ${order.total / 100} ${order.currency}` };
    """,
    """
    event.data.pieces = event.data.items.reduce((sum, item) => sum + item.qty, 0);
    event.data.at = new Date(event.timestamp).getTime();
    return event;
    """,
    """
    const { n, sentAt, order, customer } = event.data;
    return { type: event.type, n, sentAt, orderId: order.id, total: order.total, who: customer.name };
    """,
    """
    const renamed = {};
    for (const [key, value] of Object.entries(event.data)) {
      renamed[key === "note" ? "comment" : key] = value;
    }
    return { ...event, data: renamed };
    """,
)
# The hostile scripts loop for ever, call native functions that do not check the clock, allocate memory
# without end, evaluate a slow regular expression, create promises without end, or return a large result.
HOSTILE = (
    "for (;;) {}",
    "const s = 'x'.repeat(2e7); for (;;) s.indexOf('y');",
    "const all = []; for (;;) all.push(new Array(1000).fill(event));",
    "return /^(a+)+$/.test('a'.repeat(40) + '!');",
    "return new Promise(() => { const go = () => Promise.resolve().then(go); go(); });",
    "let n = 3n; for (;;) n = n * n;",
    "return transform(event);",
    "return { toJSON() { for (;;) {} } };",
    "return 'x'.repeat(2e6);",
    "for (;;) Array.from({length: 1e5}, (_, n) => -n).sort();",
)


def script(service: Service, destination: str, source: str, key: str | None = None) -> None:
    """Create and publish a script of a destination."""
    made = call(
        "POST",
        f"{service.url}/transform-scripts",
        {"destinationId": destination, "name": "bench", "source": source},
        key or service.key,
    )
    call("POST", f"{service.url}/transform-scripts/{made['id']}/publish", {}, key or service.key)


def transforms(
    service: Service,
    receiver: Receiver,
    *,
    destinations: int,
    events: int,
    connections: int,
    rounds: int,
    rate: int,
    seconds: int,
    hostile_rate: int,
) -> Measurement:
    """Compare the cost of an event for destinations without scripts and for destinations with scripts.
    Then measure the latency for both kinds of destination: first alone, then while hostile scripts of
    another workspace run."""
    for number in range(destinations):
        service.destination(f"{receiver.url}/plain/{number}", [f"plain.{number}"], concurrency=64)
        made = service.destination(
            f"{receiver.url}/made/{number}", [f"made.{number}"], concurrency=64
        )
        body = SCRIPTS[number % len(SCRIPTS)]
        script(service, made, f"// {number}\nfunction transform(event) {{{body}}}")
    plan: Figures = {"events": events, "connections": connections, "types": destinations}
    found = in_turns(
        rounds,
        lambda: cost(service, receiver, stem="plain", **plan),
        lambda: cost(service, receiver, stem="made", **plan),
    )
    found.figures |= beside(service, receiver, destinations, rate, seconds, hostile_rate)
    return found


def beside(
    service: Service, receiver: Receiver, destinations: int, rate: int, seconds: int, hostile: int
) -> Figures:
    """Measure the latency of deliveries alone, and while hostile scripts of another workspace run."""
    key = service.workspace("hostile")
    for number, body in enumerate(HOSTILE):
        made = call(
            "POST",
            f"{service.url}/destinations",
            {
                "name": "bench",
                "url": f"{receiver.url}/hostile/{number}",
                "delivery": {"concurrency": 16, "retrySchedule": []},
            },
            key,
        )["id"]
        rule = {"name": "bench", "destinationId": made, "eventTypes": [f"hostile.{number}"]}
        call("POST", f"{service.url}/routing-rules", rule, key)
        script(service, made, f"function transform(event) {{{body}}}", key)
    found: dict[str, list[Figures]] = {}
    first = 50_000_000
    for name in ("plain", "made", "plain", "made"):
        for with_them in (False, True):
            first += 1_000_000
            plan: Figures = {"connections": 4, "rate": rate, "stem": name, "first": first}
            receiver.reset()
            generator = None
            if with_them:
                generator = _hostile(service, key, hostile, seconds)
            load(service, events=rate * seconds, types=destinations, **plan)
            stats = receiver.wait(rate * seconds)
            if generator is not None:
                ended(generator)
            require(stats["unique"] >= rate * seconds, f"received {stats['unique']}")
            found.setdefault(f"{name}{'Beside' if with_them else 'Alone'}", []).append(stats)
    figures: Figures = {}
    for name in ("plain", "made"):
        alone, besides = found[f"{name}Alone"], found[f"{name}Beside"]
        for suffix in ("p50Ms", "p99Ms"):
            figures[f"{name}Alone{suffix}"] = _mean(alone, suffix)
            figures[f"{name}Beside{suffix}"] = _mean(besides, suffix)
        figures[f"{name}P99Ratio"] = round(_mean(besides, "p99Ms") / _mean(alone, "p99Ms"), 2)
    return figures


def _mean(runs: list[Figures], name: str) -> float:
    return round(sum(float(run[name]) for run in runs) / len(runs), 2)


def _hostile(service: Service, key: str, rate: int, seconds: int) -> subprocess.Popen[str]:
    started = begun(
        service,
        key=key,
        events=max(1, rate * seconds),
        connections=2,
        rate=rate,
        types=len(HOSTILE),
        stem="hostile",
    )
    time.sleep(0.5)
    return started
