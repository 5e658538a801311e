"""The routes without a credential."""

from collections.abc import Callable

from api import shapes
from api.call import Answer, Call
from api.routes import ANYONE, JSON, Embed, Route
from api.services import Services
from api.shapes import AnyDocument
from engine.model.errors import Detail, Refusal

TAG = "Service"
RETRY_S = 2  # about as long as a database takes to restart


def live(_: Services) -> Answer:
    """Answer 200: the answer itself shows that the process is alive."""
    return Answer(200, {"status": "ok"})


def ready(services: Services) -> Answer:
    """Answer 200. Raises Refusal 503 with the reasons if the service cannot take work."""
    reasons = services.unready()
    if reasons:
        details = tuple(Detail("", reason) for reason in reasons)
        raise Refusal("overloaded", "; ".join(reasons), details, retry_after_s=RETRY_S)
    return Answer(200, {"status": "ok"})


async def livez(call: Call) -> Answer:
    """See `live`."""
    return live(call.services)


async def readyz(call: Call) -> Answer:
    """See `ready`."""
    return ready(call.services)


class StaticDocument:
    """A document that is the same for all callers."""

    def __init__(self, body: Callable[[], bytes], content_type: str) -> None:
        self._body = body
        self._content_type = content_type

    def at_once(self, _: Services) -> Answer:
        return Answer(200, body=self._body(), content_type=self._content_type)

    async def handler(self, call: Call) -> Answer:
        return self.at_once(call.services)


def routes(openapi_json: Callable[[], bytes], docs_html: Callable[[], bytes]) -> tuple[Route, ...]:
    """Return the routes. `openapi_json` and `docs_html` are functions because both documents also
    describe these routes, and can only be made once the routes exist. Both functions cache their
    result."""
    openapi = StaticDocument(openapi_json, JSON)
    docs = StaticDocument(docs_html, "text/html; charset=utf-8")
    return (
        Route(
            method="GET",
            path="/livez",
            name="getLiveness",
            summary="Check that the process answers",
            description="200 while the process answers, whatever else fails.",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=livez,
            at_once=live,
            responses={200: shapes.Live},
            environment=False,
        ),
        Route(
            method="GET",
            path="/readyz",
            name="getReadiness",
            summary="Check that the server can take work",
            description="503 with the reasons if it cannot, such as a database that does not "
            "respond.",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=readyz,
            at_once=ready,
            responses={200: shapes.Live},
            environment=False,
        ),
        Route(
            method="GET",
            path="/openapi.json",
            name="getOpenApi",
            summary="Get the OpenAPI document",
            description="OpenAPI 3.1: each operation, each shape, and the webhooks that receivers "
            "get.",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=openapi.handler,
            at_once=openapi.at_once,
            responses={200: AnyDocument},
            environment=False,
        ),
        Route(
            method="GET",
            path="/docs",
            name="getDocs",
            summary="Read the OpenAPI document as a page",
            description="HTML that loads no other files.",
            tag=TAG,
            scopes=ANYONE,
            embed=Embed.SHARED,
            handler=docs.handler,
            at_once=docs.at_once,
            responses={200: AnyDocument},
            environment=False,
            content_type="text/html",
        ),
    )
