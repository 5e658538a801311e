"""The alert rules and the dashboard's queries, in a real Prometheus that scrapes a real server."""

import os
import subprocess
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from typing import Any

import httpx

import angarium
from api.metrics.alerts import ALERTS
from api.metrics.declared import METRICS
from api.metrics.files import INTERVAL, query_of
from bench.service import free_port
from tests.cli.programs import environment, manage_key, running, server
from tests.packages.tools import ROOT, tool
from tests.postgres import eventually
from tests.service.receiver import Received, open_receiver

HOW = "apt-get install --no-install-recommends prometheus"
RULES = ROOT / "deploy/metrics/alerts.yaml"
CONFIGURATION = """
global: {{scrape_interval: 200ms, scrape_timeout: 200ms, evaluation_interval: 200ms}}
rule_files: ["{rules}"]
scrape_configs:
  - job_name: angarium
    static_configs: [{{targets: ["{target}"]}}]
"""
ANSWERS = {"/gone": 410, "/down": 503}  # 204 for other paths


class Prometheus:
    def __init__(self, client: httpx.AsyncClient) -> None:
        self._client = client

    async def ask(self, path: str, **query: str) -> Any:
        answer = (await self._client.get(f"/api/v1/{path}", params=query)).json()
        assert answer["status"] == "success", answer
        return answer["data"]

    async def query(self, text: str) -> list[Any]:
        found: list[Any] = (await self.ask("query", query=text))["result"]
        return found

    async def finds(self, text: str) -> bool:
        return bool(await self.query(text))


@asynccontextmanager
async def prometheus(target: str, folder: Path) -> AsyncIterator[Prometheus]:
    program, port = tool("prometheus", HOW), free_port()
    file = folder / "prometheus.yml"
    file.write_text(CONFIGURATION.format(rules=RULES, target=target))
    command = [program, f"--config.file={file}", f"--storage.tsdb.path={folder / 'tsdb'}"]
    command.append(f"--web.listen-address=127.0.0.1:{port}")
    own = {"PATH": os.environ["PATH"], "HOME": str(folder)}
    async with running(env=own, command=command, cwd=folder) as started:
        await started.wait_for("Server is ready to receive web requests")
        async with httpx.AsyncClient(
            base_url=f"http://127.0.0.1:{port}", trust_env=False, timeout=30
        ) as client:
            yield Prometheus(client)


def answered(request: Received) -> int:
    return ANSWERS.get(request.path, 204)


def test_prometheus_takes_the_rules() -> None:
    checked = [tool("promtool", HOW), "check", "rules", str(RULES)]
    done = subprocess.run(checked, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


async def test_every_panel_shows_a_run_and_every_alert_is_evaluated(
    database_url: str, tmp_path: Path
) -> None:
    target = f"127.0.0.1:{free_port()}"
    env = environment(database_url, tmp_path, ANGARIUM_OPERATIONS_BIND=target)
    async with (
        open_receiver() as receiver,
        server(env) as (_, address),
        prometheus(target, tmp_path) as prom,
        angarium.AsyncClient(address, await manage_key(env, address), trust_env=False) as api,
    ):
        receiver.answer = answered

        await eventually(partial(prom.finds, 'up{job="angarium"} == 1'))
        for path in ("/hook", "/gone", "/down"):
            made = await api.destinations.create(path, receiver.url(path))
            await api.routing_rules.create(path, made["id"], ["*"])
        await api.events.send("order.created", {"order": 42})

        for kind in ("delivered", "dead_lettered"):
            count = f"sum(angarium_deliveries_{kind}_total) == 1"
            await eventually(partial(prom.finds, count))
        queries = [query.replace(INTERVAL, "1m") for each in METRICS for query, _ in query_of(each)]
        for query in queries:  # a rate needs two scrapes of its series
            await eventually(partial(prom.finds, query))

        async def evaluated() -> bool:
            (group,) = (await prom.ask("rules"))["groups"]
            assert [rule["name"] for rule in group["rules"]] == [each.name for each in ALERTS]
            return {rule["health"] for rule in group["rules"]} == {"ok"}

        await eventually(evaluated)
