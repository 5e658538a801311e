"""Judges a control-plane request in the contract's order, and calls its route's handler."""

from collections.abc import Mapping
from typing import Any

import trio
from pydantic import BaseModel
from quart import g, request

from api.bodies import counted, nothing, read_object, too_large
from api.call import Answer, Call
from api.cors import foreign_origin
from api.gate import Admission, named_environment
from api.policy import check_fields, check_route, withheld
from api.queries import Query, parameters, read_query
from api.routes import ANY_TYPE, Embed, Handler, Route
from api.services import Services
from api.streaming import STREAM
from engine.control.documents import read
from engine.core.vocabulary import CredentialKind, Environment
from engine.errors import Refusal
from engine.models import EnvironmentModel
from engine.workspace_settings import WorkspaceSettings

BODY_S = 30.0  # as at the front door, which does not frame what comes by HTTP/2


class Judge:
    """What stands before every handler."""

    def __init__(self, services: Services) -> None:
        self._services = services

    async def answer(self, route: Route, path: Mapping[str, str]) -> Answer:
        """Return the answer to the request at hand. Raises Refusal and StoreError."""
        admission, named = self._admit(route)
        settings = self._held_to(admission)
        body = await self._body(route)
        reads = not route.streams and (route.body is not None or route.action)
        given = parameters(request.query_string)
        query = read_query(route.query, given)
        document: dict[str, Any] = {}
        model: BaseModel | None = None
        if reads:
            document = read_object(body) if body.strip() or route.body is not None else {}
            if isinstance(document.get("environment"), str):
                self._check_named(admission, document["environment"])
            if settings is not None:
                check_fields(route, settings, document)
            model = read(Query if route.body is None else route.body, document)
            if document.get("environment") is not None:
                named.append(document["environment"])
        call = Call(
            services=self._services,
            request_id=g.request_id,
            admission=admission,
            place=self._place(route, admission, named),
            path=dict(path),
            query=query,
            document=document,
            body=model,
            headers=_headers(),
            chunks=counted(request.body, route.body_bytes) if route.streams else nothing(),
        )
        assert route.handler is not None
        if not route.streams:
            answer = await self._handled(route, route.handler, call)
            return answer if settings is None else withheld(route, settings, answer)
        with self._services.streams.place(g.workspace):
            extensions: dict[str, Any] = request.scope["extensions"]
            begin = extensions.get(STREAM)
            if begin is not None:
                begin()
            return await route.handler(call)

    async def _handled(self, route: Route, handler: Handler, call: Call) -> Answer:
        """Call the handler when its workspace has a place for it. Raises Refusal 503 when too many wait.

        What needs no credential has no workspace, and asks no database.
        """
        if route.scopes is None:
            return await handler(call)
        share = self._services.shares.of(route.method, route.share)
        async with share.place(g.workspace):
            return await handler(call)

    # --- 401, 429, 403

    def _admit(self, route: Route) -> tuple[Admission | None, list[str]]:
        if route.scopes is None:
            return None, []
        authorizations = request.headers.getlist("Authorization")
        if len(authorizations) > 1:
            raise Refusal("invalid_request", "more than one Authorization header")
        authorization = authorizations[0].encode("latin-1") if authorizations else None
        admission = self._services.gate.admit(
            authorization,
            route.scopes,
            ingestion=route.ingestion,
            origin=foreign_origin(dict(request.scope["headers"])),
        )
        g.allowance = admission.allowance
        g.workspace = admission.credential.workspace
        settings = self._held_to(admission)
        if settings is None and not route.in_grace and admission.credential.expires_at is not None:
            raise Refusal(
                "forbidden",
                "this secret was rotated out: keys are managed with the key's new secret",
            )
        if settings is None and route.embed is Embed.ONLY:
            raise Refusal("forbidden", "this is for embed sessions")
        if settings is not None and route.embed is Embed.REFUSED:
            raise Refusal("forbidden", "an embed session may not do this")
        if settings is not None:
            check_route(route, settings)
        named = request.headers.getlist("X-Environment")
        named += [value for name, value in _readable_parameters() if name == "environment"]
        for name in named:
            self._check_named(admission, name)
        return admission, named

    def _held_to(self, admission: Admission | None) -> WorkspaceSettings | None:
        """Return what its workspace lets an embed session do; None for whoever is held to nothing."""
        if admission is None or admission.credential.customer is None:
            return None
        return self._services.models.settings_of(admission.credential.workspace)

    @staticmethod
    def _check_named(admission: Admission | None, name: object) -> None:
        """Refuse with 403 when the request names another environment than the key's own."""
        own = None if admission is None else admission.environment
        if own is not None and name in Environment.__members__ and name != own.name.name:
            raise Refusal("forbidden", f"this key belongs to {own.name.name}")

    # --- 415, 413

    @staticmethod
    async def _body(route: Route) -> bytes:
        if route.body is None and not route.action and not route.streams:
            return b""
        if "Content-Encoding" in request.headers:
            raise Refusal("unsupported_media_type", "the body must not have a Content-Encoding")
        unsupported = Refusal(
            "unsupported_media_type", f"the body must be {' or '.join(route.content_types)}"
        )
        essence = request.headers.get("Content-Type", "").partition(";")[0].strip(" \t").lower()
        known = essence in route.content_types or ANY_TYPE in route.content_types
        # What an action does not have is of no type: many a client names a form's for an empty body.
        foreign = not known and essence != ""
        if not route.action and not known:
            raise unsupported
        if foreign and request.content_length:
            raise unsupported
        if (request.content_length or 0) > route.body_bytes:
            raise too_large(route.body_bytes)
        if route.streams:
            return b""
        body = bytearray()
        try:
            with trio.fail_after(BODY_S):
                async for chunk in request.body:
                    body += chunk
                    if foreign and body:
                        raise unsupported
                    if len(body) > route.body_bytes:
                        raise too_large(route.body_bytes)
        except trio.TooSlowError:
            raise Refusal("request_timeout", "the body did not arrive in time") from None
        if body.strip() and not known:
            raise unsupported
        return bytes(body)

    # --- 400 for the environment

    def _place(
        self, route: Route, admission: Admission | None, named: list[str]
    ) -> EnvironmentModel | None:
        if admission is None:
            return None
        wanted = {named_environment(name) for name in named}
        if len(wanted) > 1:
            raise Refusal("invalid_request", "the request names several environments")
        if admission.environment is not None:
            return admission.environment
        if admission.credential.kind is CredentialKind.MCP_KEY and wanted:
            workspace = admission.credential.workspace
            place = self._services.models.environment_of(workspace, wanted.pop())
            if place is not None:
                return place
        if route.environment:
            raise Refusal("invalid_request", "name the environment: header X-Environment")
        return None


def _headers() -> dict[str, str]:
    """Return the request's headers but for the credential, which no handler needs to see."""
    found: dict[str, str] = {}
    for name, value in request.scope["headers"]:
        text, given = name.decode("latin-1"), value.decode("latin-1")
        if text != "authorization":
            found[text] = f"{found[text]}, {given}" if text in found else given
    return found


def _readable_parameters() -> list[tuple[str, str]]:
    """Return the query's parameters; none where they are malformed, which is told later."""
    try:
        return parameters(request.query_string)
    except Refusal:
        return []
