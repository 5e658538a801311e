"""A request's entry: its route and its caller, judged by the request's head.

If a head has several faults, this module decides which fault the answer reports. It does so for ingestion
requests and for requests to the control plane. Nothing here awaits.
"""

from collections.abc import Mapping, Sequence

from msgspec import Struct

from api.admission import (
    Admission,
    AdmissionControl,
    Allowance,
    named_environment,
    with_allowance,
)
from api.cors import foreign_origin
from api.envelope import encoded, too_large, wrong_type
from api.escapes import unescaped
from api.policy import check_route
from api.queries import MAX_PARAMETERS
from api.routes import ANY_TYPE, JSON, Embed, Route
from engine.core.vocabulary import Environment
from engine.model.errors import Refusal
from engine.model.read_models import EnvironmentModel, Models

ENTRY = "entry"  # the key of the entry in a scope's `state`
Fields = Mapping[bytes, bytes]  # of a head: the lower-case name and its (last) value


class Entry(Struct, frozen=True, gc=False):
    """An admitted request. Without credentials, `admission` is None."""

    route: Route
    admission: Admission | None
    named: Sequence[str]  # the environments that the head names, which can be unknown
    typed: bool  # the head states a type of body that the route takes

    @property
    def allowance(self) -> Allowance | None:
        return None if self.admission is None else self.admission.allowance

    @property
    def workspace(self) -> str:
        return "" if self.admission is None else self.admission.credential.workspace

    @property
    def account(self) -> str | None:
        """The account that the request counts for: the application limits the running requests of each
        account (`api.door.places`). None if the caller is unknown."""
        if self.admission is None:
            return None
        customer = self.admission.credential.customer
        return self.admission.credential.workspace if customer is None else customer.account


def enter(
    admission_control: AdmissionControl,
    models: Models,
    route: Route,
    query: bytes,
    fields: Fields,
    length: int | None,
) -> Entry:
    """Judge a route's request by its head. Raises Refusal for the first fault, in the order 401, 429,
    403, 415, 413. `length` is Content-Length, None if unknown."""
    if route.scopes is None:
        return Entry(route, None, (), _check_body(route, fields, length))
    admission = admission_control.admit(
        fields.get(b"authorization"),
        route.scopes,
        ingestion=route.ingestion,
        origin=foreign_origin(fields),
        codes=route.opens_session,
    )
    try:
        _check_caller(models, route, admission)
        named = _named(query, fields)
        for name in named:
            check_named(admission, name)
        typed = _check_body(route, fields, length)
    except Refusal as refusal:
        raise with_allowance(refusal, admission.allowance) from None
    return Entry(route, admission, named, typed)


def check_named(admission: Admission | None, name: object) -> None:
    """Raises Refusal 403 if a request names another environment than the environment of its key."""
    own = None if admission is None else admission.environment
    if own is not None and name in Environment.__members__ and name != own.name.name:
        raise Refusal("forbidden", f"this key belongs to {own.name.name}")


def place_of(
    models: Models, route: Route, admission: Admission, named: Sequence[str]
) -> EnvironmentModel | None:
    """Return the environment of the request's key. If the key has none, return the environment that the
    request names. If the request names none either, return None, or raise Refusal 400 if the route needs
    an environment.

    `named` has all names of environments in the request. Raises Refusal 400 if two of them differ.
    """
    place = admission.environment
    if named:
        wanted = {named_environment(name) for name in named}
        if len(wanted) > 1:
            raise Refusal("invalid_request", "the request names several environments")
        if place is None:
            place = models.environment_of(admission.credential.workspace, wanted.pop())
    if place is None and route.environment:
        raise Refusal(
            "invalid_request", "name an environment of the workspace: header X-Environment"
        )
    return place


def _check_caller(models: Models, route: Route, admission: Admission) -> None:
    credential = admission.credential
    if route.installation and credential.workspace != min(models.workspaces):
        raise Refusal(
            "forbidden", "this operation needs a key of the installation's first workspace"
        )
    if credential.customer is None:
        if credential.expires_at is not None and not route.in_grace:
            raise Refusal(
                "forbidden",
                "this secret was rotated out: keys are managed with the key's new secret",
            )
        if route.embed is Embed.ONLY:
            raise Refusal("forbidden", "this operation needs an embed session")
        return
    if route.embed is Embed.REFUSED:
        raise Refusal("forbidden", "an embed session cannot do this: use a key")
    check_route(route, models.settings_for(credential.workspace, credential.customer.account))


def _named(query: bytes, fields: Fields) -> Sequence[str]:
    """Return the environments that a request's head names. Parameters beyond MAX_PARAMETERS are not read:
    a later step refuses a query with so many parameters."""
    header = fields.get(b"x-environment")
    named = () if header is None else (header.decode("latin-1"),)
    if not query:
        return named
    pairs = (pair.partition(b"=") for pair in query.split(b"&", MAX_PARAMETERS)[:MAX_PARAMETERS])
    found = (_plain(value) for name, _, value in pairs if _plain(name) == "environment")
    return (*named, *found)


def _plain(text: bytes) -> str:
    return unescaped(text.replace(b"+", b" ")).decode("utf-8", "replace")


def _check_body(route: Route, fields: Fields, length: int | None) -> bool:
    """Return True if the head states a type of body that the route takes. Raises Refusal 415 or 413.

    If the route is an action and the body is empty, a wrong type is not refused and the result is False:
    many clients state the type of a form when they send no body.
    """
    if not route.takes_body:
        return True
    if b"content-encoding" in fields:
        raise encoded()
    stated = fields.get(b"content-type", b"")
    if stated == b"application/json":
        essence = JSON
    else:
        essence = stated.partition(b";")[0].strip(b" \t").lower().decode("latin-1")
    typed = essence in route.content_types or ANY_TYPE in route.content_types
    if not typed and (not route.action or (essence and length)):
        raise wrong_type(*route.content_types)
    if length is not None and length > route.body_bytes:
        raise too_large(route.body_bytes)
    return typed
