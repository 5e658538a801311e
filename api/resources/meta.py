"""What is told without a credential: whether the service lives and works, and how to use it."""

from collections.abc import Callable

import trio

from api import shapes
from api.call import Answer, Call
from api.routes import ANYONE, Embed, Route
from api.shapes import AnyDocument
from engine.errors import Detail, Refusal

TAG = "Service"
RETRY_S = 2  # about what a database that restarts is away


async def livez(_: Call) -> Answer:
    """Answer, which is what it says."""
    return Answer(200, {"status": "ok"})


async def readyz(call: Call) -> Answer:
    """Say whether work can be taken, and if not, why."""
    reasons = call.services.unready()
    if reasons:
        details = tuple(Detail("", reason) for reason in reasons)
        raise Refusal("overloaded", "; ".join(reasons), details, retry_after_s=RETRY_S)
    return Answer(200, {"status": "ok"})


def routes(openapi_json: Callable[[], bytes], docs_html: Callable[[], bytes]) -> tuple[Route, ...]:
    """Return these routes; the two functions render the document, which describes them as well."""

    # In a thread: the first time they take some 200 ms, in which events must go on coming in.
    async def openapi(_: Call) -> Answer:
        return Answer(200, body=await trio.to_thread.run_sync(openapi_json))

    async def docs(_: Call) -> Answer:
        page = await trio.to_thread.run_sync(docs_html)
        return Answer(200, body=page, content_type="text/html; charset=utf-8")

    return (
        Route(
            method="GET",
            path="/livez",
            name="getLiveness",
            summary="Whether the process answers",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=livez,
            responses={200: shapes.Live},
            environment=False,
        ),
        Route(
            method="GET",
            path="/readyz",
            name="getReadiness",
            summary="Whether work can be taken",
            description="503 with the reasons while it cannot, such as a database that is away.",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=readyz,
            responses={200: shapes.Live},
            environment=False,
        ),
        Route(
            method="GET",
            path="/openapi.json",
            name="getOpenApi",
            summary="This document",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=openapi,
            responses={200: AnyDocument},
            environment=False,
        ),
        Route(
            method="GET",
            path="/docs",
            name="getDocs",
            summary="This document, as a page",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=docs,
            responses={200: AnyDocument},
            environment=False,
            content_type="text/html",
        ),
    )
