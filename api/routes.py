"""The declaration of a route. The routing, the OpenAPI document and the clients are made from it."""

import re
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Any, get_type_hints

from pydantic import BaseModel, RootModel

from api.bodies import BODY_BYTES
from api.call import Answer, Call
from api.queries import Query
from api.services import Services
from api.shares import Share
from engine.core.vocabulary import Scope
from engine.model.quotas import Ability

JSON = "application/json"
ANY_TYPE = "*/*"
CREATED = 201
# A handler returns the body of the answer, or an Answer if it sets status or headers itself.
Handler = Callable[[Call], Awaitable[Any]]

ANYONE: frozenset[Scope] | None = None  # no credential is needed
EVERY = frozenset(Scope)
READ = frozenset({Scope.READ, Scope.MANAGE})
MANAGE = frozenset({Scope.MANAGE})
INGEST = frozenset({Scope.INGEST, Scope.MANAGE})


class Embed(Enum):
    """The answer of a route to an embed session."""

    REFUSED = "403 in any case"
    OWN = "objects of its customer; others are a 404, and are not listed"
    SHARED = "the same as for any reader: the answer has no customer's objects"
    ONLY = "for embed sessions only: a key gets 403"


class Repeat(Enum):
    """The effect of a request that a client repeats because it got no answer."""

    FREELY = "two requests have the effect of one"
    NEVER = "the second creates another object, or conflicts with the first"
    GONE_IS_DONE = "the second gets a 404, which shows that the first was done"


@dataclass(frozen=True, slots=True)
class Method:
    """The client library's method for an operation.

    - `name`: `destinations.enable` is the method `enable` of `client.destinations`.
    - `by_hand`: the method is handwritten, not generated.
    - `positional`: optional fields of the body that a caller can give by position.
    - `once_with`: the name of a field. If a request's body has this field, clients never repeat the
      request.
    - `by_page`: the method of a list returns one page. Without `by_page`, the method iterates over all
      pages, except if its name is `list`.

    A method with the name `list` always returns one page. A second method with the name `iterate` is
    generated beside it. `iterate` goes over all pages.
    """

    name: str
    by_hand: bool = False
    positional: tuple[str, ...] = ()
    once_with: str = ""
    by_page: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The generated command for an operation.

    - `name`: `rules list` is the command `list` of `angarium rules`.
    - `columns`: titles and fields of a list's table; a nested field follows a dot.
    - `options`: flags for query parameters whose names cannot be flags.
    - `confirm`: the question that the command asks before it acts. `{}` in it stands for the object's id.
    """

    name: str
    columns: tuple[tuple[str, str], ...] = ()
    options: Mapping[str, str] = field(default_factory=dict)
    confirm: str = ""


class Nothing(RootModel[None]):
    """No content."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Route:
    """One operation.

    The request:

    - `environment`: the route needs an environment, so a caller with an MCP key must name it.
    - `path_schemas`: the schemas of path parameters that are not ids.
    - `action`: the body can be empty. If `body` is None, the only other allowed body is `{}`.
    - `streams`: the handler takes the body as it arrives (`Call.chunks`). Then `body` is used only in the
      OpenAPI document.
    - `content_types`: the accepted media types; `*/*` accepts any or none.
    - `body_schemas`: the schemas of bodies that are not JSON, by media type. By default such a body is a
      string of bytes. A schema with a title becomes a shape of that name.
    - `keyed`: the header Idempotency-Key can take the place of the body's `idempotencyKey`.

    The answer:

    - `handler`: None for the two ingestion routes, which `api.ingestion` answers.
    - `at_once`: a function that makes the answer without waiting, and without knowing the caller. The
      door calls this function.
    - `responses`: the shape of the answer for each status. By default the handler's return type is the
      shape. Bytes, several statuses, and routes without a handler need `responses`. `Nothing` is an empty
      answer.
    - `content_type`: the answer's media type. Answers that are neither JSON nor HTML are documented as
      bytes.
    - `withheld`: the fields of the answer, such as `request.body`, that are null for a customer who is
      not allowed to see payloads.
    - `refusals`: the statuses of errors, besides the statuses that every route has.
    - `codes`: the rare error codes of this route, such as `schema_violation`.

    The caller:

    - `installation`: only keys of the installation's first workspace can call the route.
    - `opens_session`: a caller with a login code of the console can call the route.
    - `in_grace`: after a rotation, callers can use the key's former secret for a time. The route accepts
      such callers.
    - `embed`: states if an embed session can call the route. Every route must state this.
    - `ability`: the permission that an embed session needs.
    - `field_abilities`: the permissions that an embed session needs for single fields of the body.
    - `ingestion`: the request counts against the rate of ingestion.
    - `share`: the kind of share that limits the route's requests. By default READS for GET, otherwise
      WRITES.

    The clients:

    - `repeat`: the effect of sending the request again after a failure. By default, clients never repeat
      a request if the route's `status` is 201, and repeat all other requests freely.
    - `takes_s`: how long the request can take, if that is longer than a client normally waits.
    """

    method: str
    path: str
    name: str
    summary: str
    tag: str
    scopes: frozenset[Scope] | None
    embed: Embed
    handler: Handler | None
    status: int = 200
    responses: Mapping[int, Any] = field(default_factory=dict)
    query: type[Query] = Query
    body: type[BaseModel] | None = None
    action: bool = False
    refusals: tuple[int, ...] = ()
    environment: bool = True
    description: str = ""
    example: Any = None
    content_type: str = JSON
    codes: tuple[str, ...] = ()
    path_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    streams: bool = False
    share: Share | None = None
    at_once: Callable[[Services], Answer] | None = None
    content_types: tuple[str, ...] = (JSON,)
    body_schemas: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    body_bytes: int = BODY_BYTES
    ingestion: bool = False
    installation: bool = False
    keyed: bool = False
    in_grace: bool = True
    opens_session: bool = False
    answer_headers: Mapping[str, str] = field(default_factory=dict)
    ability: Ability | None = None
    field_abilities: Mapping[str, Ability] = field(default_factory=dict)
    withheld: tuple[str, ...] = ()
    client: Method | None = None
    command: Command | None = None
    repeat: Repeat | None = None
    takes_s: float = 0.0
    takes_body: bool = field(init=False)

    def __post_init__(self) -> None:
        """Take the answer's shape from the handler's return type. Raises TypeError if the handler has no
        return type."""
        takes_body = self.body is not None or self.action or self.streams
        object.__setattr__(self, "takes_body", takes_body)
        if self.responses:
            return
        shape = get_type_hints(self.handler, include_extras=True).get("return")
        if shape in (None, Any, Answer):
            raise TypeError(
                f"{self.name}: the handler has no return type: annotate it, or give `responses`"
            )
        object.__setattr__(self, "responses", {self.status: shape})

    @property
    def repeats(self) -> Repeat:
        if self.repeat is not None:
            return self.repeat
        return Repeat.NEVER if self.status == CREATED else Repeat.FREELY


def rule_of(path: str) -> str:
    """Return a path as a rule of the router. The value of `{eventType}` can contain slashes."""
    typed = path.replace("{eventType}", "<type:eventType>")
    return typed.replace("{", "<").replace("}", ">")


def pattern_of(path: str) -> re.Pattern[str]:
    """Return the pattern of a path's instances."""
    return re.compile(re.sub(r"\\{\w+\\}", "[^/]+", re.escape(path)))


def by_path(routes: Iterable[Route]) -> dict[str, list[Route]]:
    """Return the routes of each path."""
    found: dict[str, list[Route]] = {}
    for route in routes:
        found.setdefault(route.path, []).append(route)
    return found


def allowed_of(routes: Sequence[Route]) -> str:
    """Return the Allow header of a path with these routes."""
    methods = {route.method for route in routes} | {"OPTIONS"}
    if "GET" in methods:
        methods.add("HEAD")
    return ", ".join(sorted(methods))


def allowed_by_rule(routes: Iterable[Route]) -> dict[str, str]:
    """Return the allowed methods of each rule."""
    return {rule_of(path): allowed_of(here) for path, here in by_path(routes).items()}


def allowed_of_server(allowed: Mapping[str, str]) -> str:
    """Return the methods that any rule has."""
    return ", ".join(sorted({method for each in allowed.values() for method in each.split(", ")}))
