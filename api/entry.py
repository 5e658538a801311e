"""A request's entry: its route and its caller, judged by its head.

Nothing here awaits.
"""

from collections.abc import Sequence

from msgspec import Struct

from api.admission import Admission, Allowance
from api.cors import foreign_origin
from api.envelope import other_environment
from api.ingestion import with_allowance
from api.policy import check_route
from api.queries import parameters
from api.routes import Embed, Route
from api.services import Services
from engine.core.vocabulary import Environment
from engine.model.errors import Refusal
from engine.model.quotas import WorkspaceSettings

ENTRY = "entry"  # the key of the entry in a scope's `state`
Fields = Sequence[tuple[bytes, bytes]]  # of a head, names in lower case


class Entry(Struct, frozen=True, gc=False):
    """An admitted request. Without credentials, admission and allowance are None."""

    route: Route
    admission: Admission | None
    named: tuple[str, ...]  # the environments that the head names, unchecked
    allowance: Allowance | None

    @property
    def workspace(self) -> str:
        return "" if self.admission is None else self.admission.credential.workspace

    @property
    def account(self) -> str | None:
        """The account that the request counts for where the application's places are shared. None for
        an unknown caller."""
        if self.admission is None:
            return None
        customer = self.admission.credential.customer
        return self.admission.credential.workspace if customer is None else customer.account


def enter(services: Services, route: Route, query: bytes, fields: Fields) -> Entry:
    """Judge the caller of a route: 401, 429, 403. Raises Refusal."""
    if route.scopes is None:
        return Entry(route, None, (), None)
    authorizations = [value for name, value in fields if name == b"authorization"]
    if len(authorizations) > 1:
        raise Refusal("invalid_request", "more than one Authorization header")
    admission = services.admission.admit(
        authorizations[0] if authorizations else None,
        route.scopes,
        ingestion=route.ingestion,
        origin=foreign_origin(dict(fields)),
        codes=route.opens_session,
    )
    try:
        _check(services, route, admission)
        named = [value.decode("latin-1") for name, value in fields if name == b"x-environment"]
        named += [value for name, value in _readable(query) if name == "environment"]
        for name in named:
            check_named(admission, name)
    except Refusal as refusal:
        raise with_allowance(refusal, admission.allowance) from None
    return Entry(route, admission, tuple(named), admission.allowance)


def _check(services: Services, route: Route, admission: Admission) -> None:
    settings = held_to(services, admission)
    if route.installation and admission.credential.workspace != min(services.models.workspaces):
        raise Refusal(
            "forbidden", "this operation needs a key of the installation's first workspace"
        )
    if settings is None:
        if not route.in_grace and admission.credential.expires_at is not None:
            raise Refusal(
                "forbidden",
                "this secret was rotated out: keys are managed with the key's new secret",
            )
        if route.embed is Embed.ONLY:
            raise Refusal("forbidden", "this operation needs an embed session")
        return
    if route.embed is Embed.REFUSED:
        raise Refusal("forbidden", "an embed session cannot do this: use a key")
    check_route(route, settings)


def held_to(services: Services, admission: Admission | None) -> WorkspaceSettings | None:
    """Return the settings that limit an embed session, None for other callers."""
    credential = None if admission is None else admission.credential
    if credential is None or credential.customer is None:
        return None
    return services.models.settings_for(credential.workspace, credential.customer.account)


def check_named(admission: Admission | None, name: object) -> None:
    """Raises Refusal 403 if a request names an environment that is not the key's."""
    own = None if admission is None else admission.environment
    if own is not None and name in Environment.__members__ and name != own.name.name:
        raise other_environment(own.name.name)


def _readable(query: bytes) -> list[tuple[str, str]]:
    """Malformed parameters give an empty list: a later step refuses such a query."""
    if not query:
        return []
    try:
        return parameters(query)
    except Refusal:
        return []
