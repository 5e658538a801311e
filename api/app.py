"""The control plane's application: the view of each route, and the answers to errors.

The ingestion routes are a separate blueprint, which judges its requests itself.
"""

from collections.abc import Awaitable, Callable, Sequence
from typing import Any, cast
from urllib.parse import quote

import structlog
from quart import Response, g, request
from quart_trio import QuartTrio
from werkzeug.exceptions import HTTPException, NotFound
from werkzeug.routing import BaseConverter, Rule

from api.admission import AdmissionRefusal, Allowance
from api.answers import headers_of, no_such_path, refused
from api.call import Answer
from api.entry import ENTRY
from api.envelope import internal_error, request_id_of
from api.heads import DirectAnswer, Heads
from api.judgement import Judge
from api.routes import Route, by_path, pattern_of, rule_of
from api.services import Services
from api.streaming import Application, Outflow, Request
from api.table import ROUTES
from engine.model.errors import Refusal
from engine.ports import ContentionError, StoreAwayError

CHANGING = frozenset({"POST", "PUT", "PATCH", "DELETE"})
SPOKEN = "POST /mcp"  # it changes nothing itself; the calls of its tools do, and are logged

log = structlog.get_logger("angarium.api")
AWAY_RETRY_S = 2  # about as long as a database takes to restart
# The application refuses a head with several fields of one of these names, because `Heads.judge` would
# use only the last of the fields. This check is for an application without the door (`api.asgi`): the
# door has already refused such heads (`api.door.framing.SINGLE`).
SINGLE = (b"authorization", b"x-environment")
METHODS = frozenset({"DELETE", "GET", "PATCH", "POST", "PUT", "TRACE"})


def make_app(services: Services, routes: Sequence[Route] = ROUTES) -> QuartTrio:
    """Return the application."""
    app = Application("angarium", static_folder=None)
    app.config.update(
        PROVIDE_AUTOMATIC_OPTIONS=False,
        MAX_CONTENT_LENGTH=None,  # each route limits its own body
        BODY_TIMEOUT=None,  # the owner of the connection sets the deadlines
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
        # This loop adds rules without a view function. `api.heads` answers a request that matches such a
        # rule, before Quart calls a view function.
        app.url_map.add(Rule(rule_of(path), endpoint=f"OPTIONS {path}", methods=["OPTIONS"]))
        # A rule `others` is added to a path that also matches the template of another path. Example: the
        # path `/a/b` has the method GET only, and `/a/{id}` has DELETE. Without the rule, a request
        # DELETE `/a/b` would reach the route DELETE `/a/{id}`. With the rule, the request gets a 405.
        if "{" not in path and any(template.fullmatch(path) for template in templates):
            others = METHODS - {route.method for route in here}
            app.url_map.add(Rule(rule_of(path), endpoint=f"others {path}", methods=others))
    _register_endings(app, services, Heads(services, app.url_map, routes))
    return app


class _EventType(BaseConverter):
    """An event type in a path. It can hold slashes, which arrive here decoded."""

    regex = r"[\s\S]+?"  # a line break reaches the route, which answers that there is no such type
    part_isolating = False


def _view(judge: Judge, route: Route, services: Services) -> Callable[..., Awaitable[Response]]:
    async def view(**path: str) -> Response:
        answer = await judge.answer(route, path)
        return _response(answer) if answer.chunks is None else _streamed(answer, services)

    return view


def _response(answer: Answer) -> Response:
    headers = dict(headers_of(answer))
    return Response(answer.rendered() if answer.chunks is None else b"", answer.status, headers)


def _streamed(answer: Answer, services: Services) -> Response:
    """Raises Refusal 503 if there are too many streams."""
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


def _judged(heads: Heads, request_id: str) -> Response | None:
    """Judge a request's head, unless the door has judged it already. If the head alone decides the
    response, return the response. Otherwise return None, and Quart calls the route's view function."""
    scope = cast("dict[str, Any]", request.scope)
    state = scope.setdefault("state", {})
    if ENTRY in state:
        return None
    method = scope["method"].encode()  # as it came: `get` is not the same method as GET
    path = quote(scope["path"], safe="/*").encode()
    fields = list(scope["headers"])
    for single in SINGLE:
        if sum(name == single for name, _ in fields) > 1:
            raise Refusal("invalid_request", f"more than one {single.decode().title()} header")
    judged = heads.judge(
        method, path, scope["query_string"], fields, request.content_length, request_id
    )
    if not isinstance(judged, DirectAnswer):
        state |= {} if judged is None else {ENTRY: judged}
        return None
    headers = {name.decode().title(): value.decode("latin-1") for name, value in judged.headers}
    return Response(judged.body, judged.status, headers)


def _register_endings(app: QuartTrio, services: Services, heads: Heads) -> None:
    @app.before_request
    async def begin() -> Response | None:  # Quart runs a function that is not async in a thread
        named = request.scope.get("state", {}).get("request_id")
        given = request.headers.get("X-Request-Id")
        g.request_id = named or request_id_of(None if given is None else given.encode("latin-1"))
        g.allowance = None
        g.workspace = ""  # the caller's, once the caller is known
        error = request.routing_exception
        if error is not None:
            # Break the reference cycle of the request, this error and the error's frames. Otherwise only
            # the garbage collector would free them, and any client can cause many such errors by requests
            # for paths that do not exist.
            error.__traceback__ = error.__context__ = None
        return _judged(heads, g.request_id)

    @app.after_request
    async def end(response: Response) -> Response:
        if "X-Request-Id" not in response.headers:
            response.headers["X-Request-Id"] = g.request_id
        if "X-RateLimit-Limit" not in response.headers:
            allowance: Allowance = g.allowance or services.admission.anonymous()
            for name, value in allowance.headers():
                response.headers[name.decode().title()] = value.decode()
        if response.status_code in (204, 304):
            del response.headers["Content-Type"]
            response.headers.pop("Content-Length", None)
        changing = request.method in CHANGING and request.endpoint != SPOKEN
        if changing and response.status_code < 400 and request.blueprint is None:
            # The client's address is written to this log only. It is not written to the audit log,
            # because the audit log is kept forever.
            log.info(
                "api.change_made",
                operation=request.endpoint,
                request_id=g.request_id,
                address=request.remote_addr,
            )
        return response

    @app.errorhandler(Refusal)
    async def refused(refusal: Refusal) -> Response:
        if isinstance(refusal, AdmissionRefusal):
            g.allowance = refusal.allowance
        if refusal.code == "plan_limit":
            log.warning(
                "plan.limit_reached",
                workspace=g.workspace,
                operation=request.endpoint,
                request_id=g.request_id,
                reason=refusal.message,
                remedy="raise the limit in the plans file or the customer's quotas",
            )
        return _refused(refusal)

    @app.errorhandler(StoreAwayError)
    async def away(error: StoreAwayError) -> Response:
        log.warning("api.store_away", request_id=g.request_id, error=str(error))
        message = "the database does not respond: try again"
        return _refused(Refusal("overloaded", message, retry_after_s=AWAY_RETRY_S))

    @app.errorhandler(ContentionError)
    async def contention(error: ContentionError) -> Response:
        log.warning("api.contention", request_id=g.request_id, error=str(error))
        return _refused(
            Refusal(
                "overloaded",
                "another request got in between, nothing was changed: try again",
                retry_after_s=1,
            )
        )

    @app.errorhandler(HTTPException)
    async def http(error: HTTPException) -> Response:
        return _http_error(error)

    @app.errorhandler(Exception)
    async def fault(error: Exception) -> Response:
        log.error("api.fault", request_id=g.request_id, exc_info=error)
        return _refused(internal_error())


def _http_error(error: HTTPException) -> Response:
    if isinstance(error, NotFound):
        return _response(no_such_path(g.request_id))
    return _refused(Refusal("invalid_request", error.description or "the request is malformed"))
