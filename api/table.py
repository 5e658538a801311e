"""All routes of the service, in the order of the document."""

from functools import cache

import orjson

from api.docs_page import page_of
from api.openapi import document
from api.resources import (
    analytics,
    audit,
    auth,
    console,
    counts,
    customers,
    deliveries,
    destinations,
    dlq,
    downloads,
    embed,
    events,
    explanation,
    files,
    health,
    ingestion,
    keys,
    lookup,
    mcp,
    meta,
    nodes,
    queues,
    replays,
    rules,
    schemas,
    stream,
    summaries,
    templates,
    throughput,
    transforms,
    waiting,
    workspace,
)
from api.routes import Route
from api.shapes.own_events import OWN_EVENTS


@cache
def openapi_json() -> bytes:
    """Return the OpenAPI document."""
    return orjson.dumps(document(ROUTES, OWN_EVENTS))


@cache
def docs_html() -> bytes:
    """Return the OpenAPI document as an HTML page."""
    return page_of(orjson.loads(openapi_json())).encode()


ROUTES: tuple[Route, ...] = (
    *ingestion.ROUTES,
    *events.ROUTES,
    *explanation.ROUTES,
    *files.ROUTES,
    *downloads.ROUTES,
    *destinations.ROUTES,
    *summaries.ROUTES,
    *templates.ROUTES,
    *health.ROUTES,
    *rules.ROUTES,
    *schemas.ROUTES,
    *transforms.ROUTES,
    *deliveries.ROUTES,
    *waiting.ROUTES,
    *queues.ROUTES,
    *dlq.ROUTES,
    *replays.ROUTES,
    *keys.ROUTES,
    *workspace.ROUTES,
    *embed.ROUTES,
    *console.ROUTES,
    *customers.ROUTES,
    *analytics.ROUTES,
    *audit.ROUTES,
    *throughput.ROUTES,
    *counts.ROUTES,
    *lookup.ROUTES,
    *nodes.ROUTES,
    *stream.ROUTES,
    *mcp.ROUTES,
    *auth.ROUTES,
    *meta.routes(openapi_json, docs_html),
)
