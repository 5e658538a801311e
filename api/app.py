"""The control plane's application: every route of the table judged in the contract's order.

Path 404, 405, 401, 429, 403, 415, 413, 400, then what the route itself says. The ingestion routes come
as a blueprint, since the front door answers most of that traffic itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import cast

import structlog
from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, MethodNotAllowed, NotFound
from werkzeug.routing import BaseConverter

from api.answers import headers_of, no_such_path, not_allowed, refused
from api.call import Answer
from api.envelope import request_id_of
from api.gate import Allowance, GateRefusal
from api.judgement import Judge
from api.routes import Route
from api.routing import allowed_by_rule, allowed_of, allowed_of_server, by_path, pattern_of, rule_of
from api.services import Services
from api.streaming import Application, Outflow, Request
from api.table import ROUTES
from engine.model.errors import Refusal
from engine.ports import ContentionError, StoreAwayError

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})

log = structlog.get_logger("angarium.api")
AWAY_RETRY_S = 2  # about what a database that restarts is away
JSON = "application/json"
METHODS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT", "TRACE"})


def make_app(services: Services, routes: Sequence[Route] = ROUTES) -> QuartTrio:
    """Return the application."""
    app = Application("angarium", static_folder=None)
    app.config.update(
        PROVIDE_AUTOMATIC_OPTIONS=False,
        MAX_CONTENT_LENGTH=None,  # each route has its own; a body that no route reads waits
        BODY_TIMEOUT=None,  # whoever owns the connection owns its deadlines
        RESPONSE_TIMEOUT=None,
        PROPAGATE_EXCEPTIONS=False,
    )
    app.url_map.merge_slashes = False
    app.url_map.converters["type"] = _EventType
    app.url_map.strict_slashes = True
    app.register_blueprint(services.ingestion)
    judge = Judge(services)
    for route in routes:
        if route.handler is not None:
            app.add_url_rule(
                rule_of(route.path),
                f"{route.method} {route.path}",
                _view(judge, route, services),
                methods=[route.method],
            )
    paths = by_path(routes)
    templates = [pattern_of(path) for path in paths if "{" in path]
    for path, here in paths.items():
        app.add_url_rule(
            rule_of(path), f"OPTIONS {path}", _options(allowed_of(here)), methods=["OPTIONS"]
        )
        # A template matches a path that is a route of its own: it must not lend that one its methods.
        if "{" not in path and any(template.fullmatch(path) for template in templates):
            app.add_url_rule(
                rule_of(path),
                f"others {path}",
                _not_allowed(allowed_of(here)),
                methods=sorted(METHODS - {route.method for route in here}),
                provide_automatic_options=False,
            )
    _register_endings(app, services, allowed_by_rule(routes))
    return app


class _EventType(BaseConverter):
    """An event type in a path. It may hold slashes, which arrive here decoded."""

    regex = r"[\s\S]+?"  # a line break is no type either, but a text like any other
    part_isolating = False


def _not_allowed(allowed: str) -> Callable[..., Awaitable[Response]]:
    async def not_allowed(**_: str) -> Response:
        raise MethodNotAllowed(allowed.split(", "))

    return not_allowed


def _view(judge: Judge, route: Route, services: Services) -> Callable[..., Awaitable[Response]]:
    async def view(**path: str) -> Response:
        answer = await judge.answer(route, path)
        return _response(answer) if answer.chunks is None else _streamed(answer, services)

    return view


def _options(allowed: str) -> Callable[..., Awaitable[Response]]:
    async def options(**_: str) -> Response:
        return Response(b"", 204, {"Allow": allowed})

    return options


def _response(answer: Answer) -> Response:
    headers = dict(headers_of(answer))
    return Response(answer.rendered() if answer.chunks is None else b"", answer.status, headers)


def _streamed(answer: Answer, services: Services) -> Response:
    """Return the response to an answer that is read while it is sent. Raises Refusal 503."""
    chunks, account = answer.chunks, answer.account or g.workspace
    assert chunks is not None
    endings = cast("Request", request).endings
    close = getattr(chunks, "aclose", None)
    if close is not None:
        endings.push_async_callback(close)
    services.streams.enter(account)
    endings.callback(services.streams.leave, account)
    response = _response(answer)
    del response.headers["Content-Length"]
    if answer.length is not None:
        response.headers["Content-Length"] = str(answer.length)
    if request.method != "HEAD":
        response.response = Outflow(chunks)
    return response


def _refused(refusal: Refusal) -> Response:
    return _response(refused(refusal, g.request_id))


def _register_endings(app: QuartTrio, services: Services, allowed: dict[str, str]) -> None:
    """Say what every request begins with, every answer ends with, and what errors become."""
    every = allowed_of_server(allowed)

    @app.before_request
    async def begin() -> Response | None:  # what is not async would cost a thread's hop
        # The front door has named an HTTP/1.1 request already.
        named = request.scope.get("state", {}).get("request_id")
        given = request.headers.get("X-Request-Id")
        g.request_id = named or request_id_of(None if given is None else given.encode("latin-1"))
        g.allowance = None
        g.workspace = ""  # of the caller, once that is known
        if request.scope["path"].startswith("//"):  # which the framework takes for one slash
            raise Refusal("not_found", "no such path")
        given_method: object = dict(request.scope).get("method")
        if given_method != request.method and request.url_rule is not None:
            # methods are in capitals, and `get` is another one than GET
            raise MethodNotAllowed(allowed[request.url_rule.rule].split(", "))
        if request.method == "OPTIONS" and request.scope["path"] == "*":  # of the server as a whole
            return Response(b"", 204, {"Allow": every})
        return None

    @app.after_request
    async def end(response: Response) -> Response:
        if "X-Request-Id" not in response.headers:
            response.headers["X-Request-Id"] = g.request_id
        if "X-RateLimit-Limit" not in response.headers:
            allowance: Allowance = g.allowance or services.gate.anonymous()
            for name, value in allowance.headers():
                response.headers[name.decode().title()] = value.decode()
        if response.status_code in (204, 304):
            del response.headers["Content-Type"]
            response.headers.pop("Content-Length", None)
        if request.method in CHANGING and response.status_code < 400 and request.blueprint is None:
            # The audit log, which is kept for good, has the request's id; its address a log can forget.
            log.info(
                "api.change_made",
                operation=request.endpoint,
                request_id=g.request_id,
                address=request.remote_addr,
            )
        return response

    @app.errorhandler(Refusal)
    async def refused(refusal: Refusal) -> Response:
        if isinstance(refusal, GateRefusal):
            g.allowance = refusal.allowance
        return _refused(refusal)

    @app.errorhandler(StoreAwayError)
    async def away(error: StoreAwayError) -> Response:
        log.warning("api.store_away", request_id=g.request_id, error=str(error))
        message = "the database does not answer: try again"
        return _refused(Refusal("overloaded", message, retry_after_s=AWAY_RETRY_S))

    @app.errorhandler(ContentionError)
    async def contention(error: ContentionError) -> Response:
        log.warning("api.contention", request_id=g.request_id, error=str(error))
        return _refused(Refusal("overloaded", "nothing was changed: try again", retry_after_s=1))

    @app.errorhandler(HTTPException)
    async def http(error: HTTPException) -> Response:
        # The request keeps the error that its path was, and by the error's frames itself: what anybody
        # may ask for without a key would wait for the collector, with its headers and all.
        error.__traceback__ = error.__context__ = None
        return _http_error(error)

    @app.errorhandler(Exception)
    async def fault(error: Exception) -> Response:
        log.error("api.fault", request_id=g.request_id, exc_info=error)
        return _refused(Refusal("internal", "a fault of the service"))


def _http_error(error: HTTPException) -> Response:
    """Return what the framework refuses in the API's words."""
    if isinstance(error, MethodNotAllowed):
        allowed = set(error.valid_methods or ()) - {"*"}
        return _response(not_allowed(request.method, allowed, g.request_id))
    if isinstance(error, NotFound):
        return _response(no_such_path(g.request_id))
    return _refused(Refusal("invalid_request", error.description or "the request is malformed"))
