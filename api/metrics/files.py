"""The files generated from the lists of metrics and alerts.

`python -m api.metrics` writes them.
"""

import json
from pathlib import Path
from typing import Any

from api.metrics.alerts import ALERTS
from api.metrics.declared import METRICS
from api.metrics.reading import OTHERS, Metric
from api.metrics.scrape import BUSIEST, ENVIRONMENTS, FAILING

ROOT = Path(__file__).parents[2]
PANEL_WIDTH, PANEL_HEIGHT, GRID = 8, 7, 24  # in units of the grid
DATASOURCE = {"type": "prometheus", "uid": "${datasource}"}
UNITS = (("_seconds", "s"), ("_bytes", "bytes"))
INTERVAL = "$__rate_interval"


def files() -> dict[Path, str]:
    """Return the text of each file."""
    return {
        ROOT / "docs/metrics.md": documentation(),
        ROOT / "deploy/metrics/dashboard.json": json.dumps(dashboard(), indent=1) + "\n",
        ROOT / "deploy/metrics/alerts.yaml": alert_rules(),
    }


def documentation() -> str:
    """Return the page about metrics."""
    rows = "\n".join(
        f"| `{each.series}` | {each.kind} | {', '.join(each.labels) or '-'} | {each.help} |"
        for each in METRICS
    )
    alerts = "\n".join(f"| {each.name} | {each.says} | {each.then} |" for each in ALERTS)
    return f"""# Metrics

This page is for operators who watch Angarium with Prometheus. `python -m api.metrics` writes it.

```bash
ANGARIUM_OPERATIONS_BIND=127.0.0.1:8081 angarium serve &
curl -s http://127.0.0.1:8081/metrics
```

`GET /metrics` at the address of `ANGARIUM_OPERATIONS_BIND` answers in OpenMetrics, or in Prometheus'
text format if the scraper asks for that. Allow access to the address only from your network. Without
the setting there are no metrics, and nothing is counted for them. Counters begin at 0 when the server
starts.

With `ANGARIUM_OPERATIONS_KEY` (at least 16 characters; `openssl rand -hex 32` makes one) `/metrics` and
`/process` answer only to `Authorization: Bearer KEY`, and others get a 401. `/livez` and `/readyz` stay
open for probes. In Prometheus' configuration the job has
`authorization: {{credentials_file: /etc/prometheus/angarium.key}}`.

Labels are bounded. The first {ENVIRONMENTS} environments with work have labels of their own; all
others are `{OTHERS}`. Destinations are named only while they are among the {BUSIEST} with the most
work (deliveries that wait or are being sent), or among the {FAILING} active ones with the most
failures in a row. A destination without work can be among the failing ones.

- [`deploy/metrics/dashboard.json`](../deploy/metrics/dashboard.json) is a dashboard for Grafana.
- [`deploy/metrics/alerts.yaml`](../deploy/metrics/alerts.yaml) has alert rules for Prometheus. They
  expect a job named `angarium`.
- [`deploy/compose.yaml`](../deploy/compose.yaml) starts both with the server.

## All metrics

| metric | kind | labels | meaning |
|---|---|---|---|
{rows}

`process_*` and `python_gc_*` are those of the Prometheus client library: CPU, memory, open files, garbage
collection.

## Alerts

| alert | meaning | what to do |
|---|---|---|
{alerts}
"""


def query_of(metric: Metric) -> list[tuple[str, str]]:
    """Return the queries of a metric's panel, each with its legend."""
    if metric.kind == "histogram":
        rate = f"sum by (le) (rate({metric.series}[{INTERVAL}]))"
        return [(f"histogram_quantile({q}, {rate})", f"p{100 * q:g}") for q in (0.5, 0.9, 0.99)]
    legend = " ".join(f"{{{{{label}}}}}" for label in metric.labels) or metric.name
    by = f" by ({', '.join(metric.labels)})" if metric.labels else ""
    if metric.kind == "counter":
        return [(f"sum{by} (rate({metric.series}[{INTERVAL}]))", legend)]
    return [(f"sum{by} ({metric.series})", legend)]


def dashboard() -> dict[str, Any]:
    """Return Grafana's dashboard."""
    columns = GRID // PANEL_WIDTH
    return {
        "title": "Angarium",
        "uid": "angarium",
        "schemaVersion": 39,
        "editable": True,
        "refresh": "15s",
        "time": {"from": "now-1h", "to": "now"},
        "templating": {
            "list": [{"name": "datasource", "type": "datasource", "query": "prometheus"}]
        },
        "panels": [
            _panel(
                number, each, PANEL_WIDTH * (number % columns), PANEL_HEIGHT * (number // columns)
            )
            for number, each in enumerate(METRICS)
        ],
    }


def _panel(number: int, metric: Metric, x: int, y: int) -> dict[str, Any]:
    unit = next((unit for suffix, unit in UNITS if metric.name.endswith(suffix)), "short")
    return {
        "id": number + 1,
        "type": "timeseries",
        "title": metric.name.removeprefix("angarium_").replace("_", " "),
        "description": metric.help,
        "datasource": DATASOURCE,
        "gridPos": {"x": x, "y": y, "w": PANEL_WIDTH, "h": PANEL_HEIGHT},
        "fieldConfig": {
            "defaults": {"unit": unit if metric.kind != "counter" else "cps", "min": 0},
            "overrides": [],
        },
        "targets": [
            {"refId": chr(ord("A") + at), "expr": query, "legendFormat": legend}
            for at, (query, legend) in enumerate(query_of(metric))
        ],
    }


def alert_rules() -> str:
    """Return Prometheus' file of rules. Its strings are in JSON, which is valid YAML."""
    lines = ["# Written by `python -m api.metrics`.", "groups:", "  - name: angarium", "    rules:"]
    for each in ALERTS:
        lines += [
            f"      - alert: {each.name}",
            f"        expr: {json.dumps(each.when)}",
            f"        for: {each.since}",
            f"        labels: {{severity: {each.severity}}}",
            "        annotations:",
            f"          summary: {json.dumps(each.says)}",
            f"          description: {json.dumps(each.then)}",
        ]
    return "\n".join(lines) + "\n"
