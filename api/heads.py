"""The door's judgement of a request by its head.

The door itself answers requests for pages, requests that it refuses, and requests to routes whose
function `at_once` makes the answer without waiting. It passes all other requests to the application. The
door finds routes with the URL map of the application. Nothing here awaits.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from msgspec import Struct
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import Map

from api.admission import AdmissionRefusal, Allowance
from api.answers import headers_of, no_such_path, not_allowed, refused
from api.call import Answer
from api.entry import Entry, enter
from api.escapes import unescaped
from api.queries import parameters, read_query
from api.routes import Route, allowed_by_rule, allowed_of_server
from api.services import Services
from api.table import ROUTES
from api.web import Fields, Portal, web_files
from engine.model.errors import Refusal

_NO_BODY = frozenset({204, 304})


class DirectAnswer(Struct, frozen=True, gc=False):
    """An answer of the door. `headers` lacks Connection, Content-Length, and the headers of CORS."""

    status: int
    headers: list[tuple[bytes, bytes]]
    body: bytes

    async def app(
        self, _scope: object, _receive: object, send: Callable[[dict[str, Any]], Awaitable[None]]
    ) -> None:
        """An ASGI application that sends this answer."""
        start = {"type": "http.response.start", "status": self.status, "headers": self.headers}
        await send(start)
        await send({"type": "http.response.body", "body": self.body})


class Heads:
    """The judge of requests by their heads. `url_map` and `routes` must be of the same application."""

    def __init__(self, services: Services, url_map: Map, routes: Sequence[Route] = ROUTES) -> None:
        self._services = services
        self._adapter = url_map.bind("")
        self._routes = {f"{route.method} {route.path}": route for route in routes}
        self._web = web_files()
        self._portal = Portal(self._web, services.models)
        self._allowed = allowed_by_rule(routes)
        self._every = allowed_of_server(self._allowed)

    def judge(
        self,
        method: bytes,
        path: bytes,
        query: bytes,
        fields: Fields,
        length: int | None,
        request_id: str,
    ) -> DirectAnswer | Entry | None:
        """Return a DirectAnswer if the door answers the request itself. Return an Entry if the request is
        admitted: the application gets the request with this Entry. Return None if the application's
        framework must answer, for example with a redirect.

        `path` is percent-encoded. `length` is Content-Length, None if unknown.
        """
        asked = method.decode("ascii")
        page = self._web.answer(asked, path, fields, request_id) or self._portal.answer(
            asked, path, fields, request_id
        )
        if page is not None:
            return self._answer_of(page, request_id)
        try:
            found = self._find(asked, unescaped(path).decode("utf-8", "replace"), request_id)
            if not isinstance(found, Route):
                return None if found is None else self._answer_of(found, request_id)
            services = self._services
            entry = enter(services.admission, services.models, found, query, dict(fields), length)
            if found.at_once is not None:
                read_query(found.query, parameters(query))
                answer = found.at_once(self._services)
                return self._answer_of(answer, request_id)
        except AdmissionRefusal as refusal:
            return self._answer_of(refused(refusal, request_id), request_id, refusal.allowance)
        except Refusal as refusal:
            return self._answer_of(refused(refusal, request_id), request_id)
        return entry

    def _find(self, method: str, path: str, request_id: str) -> Route | Answer | None:
        """Return the route of a request. If there is no route, return the door's answer, such as 404 or
        405. Return None if the application's framework must answer, for example with a redirect."""
        if path.startswith("//"):  # the framework would read it as one slash
            return no_such_path(request_id)
        capitals = method.upper()
        if path == "*":
            return _allows(self._every) if method == "OPTIONS" else no_such_path(request_id)
        try:
            rule, _ = self._adapter.match(path, capitals, return_rule=True)
        except MethodNotAllowed as error:
            return not_allowed(capitals, set(error.valid_methods or ()) - {"*"}, request_id)
        except NotFound:
            return no_such_path(request_id)
        except HTTPException:
            return None
        allowed = self._allowed.get(rule.rule, "")
        kind = rule.endpoint.partition(" ")[0]
        if method != capitals or kind == "others":  # methods are case-sensitive: `get` is not GET
            return not_allowed(capitals, allowed.split(", "), request_id)
        if kind == "OPTIONS":
            return _allows(allowed)
        return self._routes.get(rule.endpoint)

    def _answer_of(
        self, answer: Answer, request_id: str, allowance: Allowance | None = None
    ) -> DirectAnswer:
        silent = answer.status in _NO_BODY
        headers = answer.headers if silent else headers_of(answer)
        rate = allowance or self._services.admission.anonymous()
        return DirectAnswer(
            answer.status,
            [
                *((name.lower().encode(), value.encode("latin-1")) for name, value in headers),
                (b"x-request-id", request_id.encode()),
                *rate.headers(),
            ],
            b"" if silent else answer.rendered(),
        )


def _allows(allowed: str) -> Answer:
    return Answer(204, body=b"", headers=(("Allow", allowed),))
