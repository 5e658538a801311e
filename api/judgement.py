"""The judgement of a control-plane request whose head was judged (`api.entry`), and the call of its
route's handler."""

from collections.abc import Mapping
from typing import Any

import trio
from pydantic import BaseModel
from quart import g, request

from api.bodies import counted, nothing, read_object
from api.call import Answer, Call
from api.entry import ENTRY, Entry, check_named, place_of
from api.envelope import body_late, too_large, wrong_type
from api.policy import check_fields, withheld
from api.queries import Query, parameters, read_query
from api.routes import Handler, Route
from api.services import Services
from api.shares import KEYS
from api.streaming import STREAM
from engine.model.documents import read
from engine.runtime.loop_watch import TASK_MARK

LARGE_BYTES = 16 * 1024  # larger bodies are parsed and validated in separate steps
BODY_S = 30.0  # the same as at the front door


class Judge:
    """The steps of every request before its handler."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def answer(self, route: Route, path: Mapping[str, str]) -> Answer:
        """Judge the request that Quart is serving, call its handler, and return the answer.

        Raises Refusal and StoreError."""
        entry = self._entry(route)
        admission, named = entry.admission, list(entry.named)
        TASK_MARK.set((route.name, None if admission is None else g.workspace))
        models = self._services.models
        settings = None  # that limit an embed session
        if admission is not None and (customer := admission.credential.customer) is not None:
            settings = models.settings_for(g.workspace, customer.account)
        reads = route.takes_body and not route.streams
        body = await _body(entry) if reads else b""
        given = parameters(request.query_string)
        query = read_query(route.query, given)
        document: dict[str, Any] = {}
        model: BaseModel | None = None
        if reads:
            document = read_object(body) if body.strip() or not route.action else {}
            if len(body) > LARGE_BYTES:
                await trio.lowlevel.checkpoint()
            if isinstance(document.get("environment"), str):
                check_named(admission, document["environment"])
            if settings is not None:
                check_fields(route, settings, document)
            model = read(Query if route.body is None else route.body, document)
            if document.get("environment") is not None:
                named.append(document["environment"])
        call = Call(
            services=self._services,
            request_id=g.request_id,
            admission=admission,
            place=None if admission is None else place_of(models, route, admission, named),
            path=dict(path),
            query=query,
            document=document,
            body=model,
            headers=_headers(),
            chunks=counted(request.body, route.body_bytes) if route.streams else nothing(),
        )
        assert route.handler is not None
        if not route.streams:
            answer = answer_of(route, await self._handled(route, route.handler, call))
            return answer if settings is None else withheld(route, settings, answer)
        with self._services.streams.place(g.workspace):
            extensions: dict[str, Any] = request.scope["extensions"]
            begin = extensions.get(STREAM)
            if begin is not None:
                begin()
            return answer_of(route, await route.handler(call))

    async def _handled(self, route: Route, handler: Handler, call: Call) -> object:
        """Call the handler when the workspace's share (`api.shares`) allows one more running request.
        Raises Refusal 503 if too many of the workspace's requests already wait for their share.

        If the route needs no credentials, the request does not wait: it has no workspace, and does not
        use the database.
        """
        if route.scopes is None:
            return await handler(call)
        share = self._services.shares.of(route.method, route.share)
        async with share.place(
            g.workspace, KEYS if call.customer is None else call.customer.account
        ):
            return await handler(call)

    def _entry(self, route: Route) -> Entry:
        entry: Entry = request.scope["state"][ENTRY]
        assert entry.route is route
        g.allowance, g.workspace = entry.allowance, entry.workspace
        return entry


def answer_of(route: Route, found: object) -> Answer:
    """Return a route handler's result as an answer."""
    return found if isinstance(found, Answer) else Answer(route.status, found)


async def _body(entry: Entry) -> bytes:
    """Return the request's body. Raises Refusal 413 if the body is too large, 408 if it does not arrive
    in time, and 415 if it has content but the head states no type of body that the route takes."""
    route = entry.route
    body = bytearray()
    try:
        with trio.fail_after(BODY_S):
            async for chunk in request.body:
                if not entry.typed and chunk.strip():
                    raise wrong_type(*route.content_types)
                body += chunk
                if len(body) > route.body_bytes:
                    raise too_large(route.body_bytes)
    except trio.TooSlowError:
        raise body_late() from None
    return bytes(body)


def _headers() -> dict[str, str]:
    found: dict[str, str] = {}
    for name, value in request.scope["headers"]:
        text, given = name.decode("latin-1"), value.decode("latin-1")
        if text != "authorization":
            found[text] = f"{found[text]}, {given}" if text in found else given
    return found
