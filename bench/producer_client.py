"""The client process of `bench.producer`: it reads a plan from stdin, measures its own CPU, and writes
figures to stdout."""

import json
import sys
import time
from statistics import median

import anyio

import angarium

PAYLOAD = {"order": 42, "note": "x" * 250, "lines": [{"sku": "a-1", "units": 3}] * 3}
ROUNDS = 3


def through_producer(client: angarium.Client, events: int) -> dict[str, float]:
    """Send events through a producer."""
    began, cpu = time.perf_counter(), time.process_time()
    with angarium.Producer(client) as producer:
        for _ in range(events):
            producer.send("bench.produced", PAYLOAD)
        report = producer.flush()
    spent_s, took_s = time.process_time() - cpu, time.perf_counter() - began
    return {
        "accepted": report.accepted,
        "eventsPerSecond": round(events / took_s, 1),
        "clientMicrosPerEvent": round(spent_s / events * 1e6, 2),
    }


async def singly(url: str, key: str, events: int, tasks: int) -> float:
    """Send `events` single events from `tasks` tasks; return the client's CPU microseconds for an
    event."""
    async with angarium.AsyncClient(url, key) as client:
        left = events

        async def send() -> None:
            nonlocal left
            while left > 0:
                left -= 1
                await client.events.send("bench.single", PAYLOAD)

        await client.auth_context()
        cpu = time.process_time()
        async with anyio.create_task_group() as group:
            for _ in range(tasks):
                group.start_soon(send)
        return (time.process_time() - cpu) / events * 1e6


def main() -> None:
    plan = json.load(sys.stdin)
    url, key = plan["url"], plan["key"]
    with angarium.Client(url, key) as client:
        figures = through_producer(client, plan["events"])
    ways = (1, plan["tasks"])
    rounds = [
        [anyio.run(singly, url, key, plan["singles"], n) for n in ways] for _ in range(ROUNDS)
    ]
    one, many = (median(each) for each in zip(*rounds, strict=True))
    print(
        json.dumps(
            {
                **figures,
                "oneTaskMicros": round(one, 1),
                "manyTasksMicros": round(many, 1),
                "manyOverOne": round(many / one, 2),
            }
        )
    )


if __name__ == "__main__":
    main()
