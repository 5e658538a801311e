"""The route table: what exists, from which both lanes' routing and the OpenAPI document are made."""

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
# What it returns is the body of its answer, or an Answer where status or headers are its own.
Handler = Callable[[Call], Awaitable[Any]]

ANYONE: frozenset[Scope] | None = None  # needs no credential
EVERY = frozenset(Scope)
READ = frozenset({Scope.READ, Scope.MANAGE})
MANAGE = frozenset({Scope.MANAGE})
INGEST = frozenset({Scope.INGEST, Scope.MANAGE})


class Embed(Enum):
    """What an embed session gets of a route."""

    REFUSED = "403, whatever it names"
    OWN = "what belongs to its customer; the rest is a 404, and is in no list"
    SHARED = "the same as any reader: nothing in it belongs to a customer"
    ONLY = "it is for them alone: a key gets 403"


class Repeat(Enum):
    """What becomes of a request that is sent a second time, because the first got no answer."""

    FREELY = "twice is the same as once"
    NEVER = "the second makes another thing, or finds a conflict that the first has caused"
    GONE_IS_DONE = "the second finds a 404, which says that the first was done"


@dataclass(frozen=True, slots=True)
class Method:
    """The method of the client library for an operation.

    `name`: `destinations.enable` is the method `enable` of `client.destinations`. `by_hand`: somebody
    writes it; the generator makes the others. `positional`: optional fields of the body that a caller may
    give by position. `once_with`: a field of the body with which the client does not repeat the request.

    A list's method `list` comes with an `iterate`. A list's method of another name iterates, or returns
    one page (`by_page`).
    """

    name: str
    by_hand: bool = False
    positional: tuple[str, ...] = ()
    once_with: str = ""
    by_page: bool = False


@dataclass(frozen=True, slots=True)
class Command:
    """The plain command for an operation: it calls the client's method and prints the answer.

    `name`: `rules list` is the command `list` of `angarium rules`. `columns`: titles and fields of a
    list's table; a field's field follows a dot. `options`: flags of query parameters with unfit names.
    `confirm`: what it asks before it acts; `{}` stands for the id.
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

    `body`: the model of its JSON body; `merge_patch`: that body is a merge patch. `action`: its body is
    `{}` or none; with a `body`, that or none. `status`: of its success, whose shape is what the
    handler's signature returns. `responses`: shapes by status, given where the signature cannot say it:
    of bytes, of several statuses (`Nothing` is that of an empty answer), and without a handler. Beside
    them are the errors in `refusals` and those of any route.
    `environment`: it works in one, so that an MCP key must name it. `handler` is None for a route that
    the ingestion routes answer.
    `embed`: what an embed session gets; no route is without a decision.
    `example`: of its body, where one made from its fields would not do. `codes`: error codes that few
    routes have, such as `schema_violation`. `path_schemas`: of its path's parameters that are no ids.

    `streams`: its handler takes the body as it comes (`Call.chunks`), and `body` only documents it.
    `content_types`: the media types it takes, `*/*` for any and none; what those that are no JSON look
    like is in `body_schemas`, each a string of bytes where nothing is said; one with a title is a shape
    of that name. `body_bytes`: the most that its body may have. `ingestion`: it counts on the rate of
    ingestion. `content_type`: of its answer; one that is neither JSON nor a page is documented as
    bytes. `answer_headers`: of its success, by name, with what each says.

    `installation`: only keys of the installation's first workspace may ask for it.

    `keyed`: the header Idempotency-Key stands for its body's `idempotencyKey`.

    `opens_session`: a login code of the console may ask for it.

    `in_grace`: a key's former secret may ask for it, while it lives on after a rotation.

    `at_once`: its answer, where nothing has to be waited for and nobody known: the door gives it.

    `share`: of what its workspace has places for; by its method where nothing is said.

    `ability`: what the workspace must let its customers do, in embed sessions; of some fields of its body
    `field_abilities` says another one. `withheld`: places of its answer, such as `request.body`, that are
    null where customers may not see payloads.

    `client`: its method in the client library; None: the library has none. `command`: its plain command;
    None: somebody writes the command, or there is none. `repeat`: whether it may be
    sent again after a failure; by default what answers 201 is not. `takes_s`: how long it may rightly
    take, where that is longer than a client waits.
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

    def __post_init__(self) -> None:
        """Take the shape of the answer from the handler's signature. Raises TypeError if it has none."""
        if self.responses:
            return
        shape = get_type_hints(self.handler, include_extras=True).get("return")
        if shape in (None, Any, Answer):
            raise TypeError(f"{self.name}: the handler's signature does not say what it returns")
        object.__setattr__(self, "responses", {self.status: shape})

    @property
    def repeats(self) -> Repeat:
        """The effect of repeating the request."""
        if self.repeat is not None:
            return self.repeat
        return Repeat.NEVER if self.status == CREATED else Repeat.FREELY


def rule_of(path: str) -> str:
    """Return the rule of a path. Its variable `eventType` can hold slashes."""
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
    """Return the methods of a path with these routes, as an Allow header lists them."""
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
