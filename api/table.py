"""All routes of the service, in the order of the document."""

from functools import cache

import orjson

from api.docs_page import page_of
from api.openapi import document
from api.resources import (
    auth,
    deliveries,
    destinations,
    events,
    health,
    ingestion,
    meta,
    replays,
    rules,
)
from api.routes import Route


@cache
def openapi_json() -> bytes:
    """Return the OpenAPI document."""
    return orjson.dumps(document(ROUTES))


@cache
def docs_html() -> bytes:
    """Return the same as a page to be read."""
    return page_of(document(ROUTES)).encode()


ROUTES: tuple[Route, ...] = (
    *ingestion.ROUTES,
    *events.ROUTES,
    *destinations.ROUTES,
    *health.ROUTES,
    *rules.ROUTES,
    *deliveries.ROUTES,
    *replays.ROUTES,
    *auth.ROUTES,
    *meta.routes(openapi_json, docs_html),
)
