"""A destination's authentication as callers write and see it: checks, merge patches, masked secrets."""

import base64
import re
from collections.abc import Mapping
from typing import Annotated, Any, Literal

import msgspec
from pydantic import AfterValidator, BaseModel, Field, StringConstraints

from engine.core.destination import (
    SECRETS,
    Authentication,
    Basic,
    Bearer,
    ClientCredentials,
    MutualTls,
    Where,
)
from engine.model.documents import DOCUMENT, invalid, refused
from engine.model.errors import Detail
from engine.model.headers import MASK, Headers

FIELD = "authentication"
SECRET_LENGTH = 4_096  # the longest client secrets in use are assertions of some 2 KiB
TOKEN_LENGTH = 6_144  # within the 8 KiB for all headers
PEM_LENGTH = 32_768  # a chain of three certificates has some 6 KiB
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")


def _printable(value: str) -> str:
    if _CONTROL.search(value):
        raise ValueError("must have no control characters")
    return value


def _user(value: str) -> str:
    if ":" in value:
        raise ValueError("must have no colon, because a colon ends the user name (RFC 7617)")
    return _printable(value)


# The two checks above as patterns, for the OpenAPI document.
_PRINTABLE = Field(json_schema_extra={"pattern": r"^[^\x00-\x1f\x7f]+$"})
_USER = Field(json_schema_extra={"pattern": r"^[^:\x00-\x1f\x7f]+$"})
Secret = Annotated[
    str,
    StringConstraints(min_length=1, max_length=SECRET_LENGTH),
    AfterValidator(_printable),
    _PRINTABLE,
]
Text = Annotated[
    str,
    StringConstraints(min_length=1, max_length=1_024),
    AfterValidator(_printable),
    _PRINTABLE,
]
Pem = Annotated[str, StringConstraints(min_length=1, max_length=PEM_LENGTH)]
# Visible ASCII. RFC 6750 allows fewer characters, but issuers use more.
Token = Annotated[str, StringConstraints(min_length=1, max_length=TOKEN_LENGTH, pattern="^[!-~]+$")]


class BasicAuthentication(BaseModel):
    """A user name and a password, sent with every request."""

    model_config = DOCUMENT
    kind: Literal["BASIC"]
    username: Annotated[
        str, StringConstraints(min_length=1, max_length=1_024), AfterValidator(_user), _USER
    ]
    password: Secret


class BearerAuthentication(BaseModel):
    """A fixed token, sent with every request."""

    model_config = DOCUMENT
    kind: Literal["BEARER"]
    token: Token


class ClientCredentialsAuthentication(BaseModel):
    """Tokens from a token endpoint, fetched when needed and renewed before they expire."""

    model_config = DOCUMENT
    kind: Literal["OAUTH2_CLIENT_CREDENTIALS"]
    token_url: str = Field(
        max_length=2_048, description="http or https. The server checks its address like a "
        "destination's.",
        json_schema_extra={"pattern": "^[Hh][Tt][Tt][Pp][Ss]?://."},
    )  # fmt: skip
    client_id: Text
    client_secret: Secret
    scope: Text | None = Field(None, description="Scopes, separated by spaces.")
    audience: Text | None = Field(
        None, description="The audience of the token, for issuers that require it, such as Auth0."
    )
    client_authentication: Where = Field(
        "HEADER",
        description="The place of id and secret in token requests: a Basic header, or the form.",
    )


class MutualTlsAuthentication(BaseModel):
    """A client certificate for connections to the receiver. The URL must be https."""

    model_config = DOCUMENT
    kind: Literal["MTLS"]
    certificate: Pem = Field(
        description="PEM, with the chain up to a certificate that the receiver trusts."
    )
    private_key: Pem = Field(description="PEM, without a passphrase. Shown as ***.")


AuthenticationDraft = Annotated[
    BasicAuthentication
    | BearerAuthentication
    | ClientCredentialsAuthentication
    | MutualTlsAuthentication,
    Field(discriminator="kind"),
]


def shown(authentication: Authentication | None) -> dict[str, Any] | None:
    """Return an authentication as callers see it."""
    if authentication is None:
        return None
    document: dict[str, Any] = msgspec.to_builtins(authentication)
    return {name: MASK if name in SECRETS else value for name, value in document.items()}


def base_of_patch(present: dict[str, Any] | None, patch: object) -> dict[str, Any] | None:
    """Return the document into which a patch is merged. This is `present`, the destination's present
    authentication. Return None if the destination has no authentication, or if the patch changes the
    authentication's kind: then no present value is kept."""
    if present is None or not isinstance(patch, Mapping):
        return present
    return present if patch.get("kind", present["kind"]) == present["kind"] else None


def authentication_of(
    draft: BaseModel | None, stored: Authentication | None = None, *, patch: object = None,
    moved: bool = False,
) -> Authentication | None:  # fmt: skip
    """Return the authentication that a caller's draft describes. Where the draft has `MASK` in place of a
    secret, the secret is taken from `stored`, the authentication before the change.

    `patch`: the caller's merge patch, from which the draft was made. `moved`: the patch gives the
    destination's URL another origin. If `moved` is True, or if the patch changes the token URL, it must
    contain each secret again. Raises Refusal 400 if a secret is missing.
    """
    if draft is None:
        return None
    document = draft.model_dump(by_alias=True)
    known = {} if stored is None else msgspec.to_builtins(stored)
    if known.get("kind") != document["kind"]:
        known = {}
    moved = moved or known.get("tokenUrl") != document.get("tokenUrl")
    given = patch if isinstance(patch, Mapping) else {}
    for name in SECRETS:
        if document.get(name) == MASK:
            if name not in known:
                raise invalid(
                    f"{FIELD}.{name}", "is the mask, but no value is stored: give the secret"
                )
            document[name] = known[name]
    kept = [name for name in SECRETS if name in known and given.get(name, MASK) == MASK]
    if moved and kept:
        message = "the URL changes: give this secret again or remove the authentication"
        raise refused([Detail(f"{FIELD}.{name}", message) for name in kept])
    record: Authentication = msgspec.convert(document, Authentication)
    return record


def refuse_misplaced(authentication: Authentication | None, headers: Headers, *, tls: bool) -> None:
    """Raise Refusal 400 if an authentication sets a header that `headers` already has. Raise it also if
    the authentication is mutual TLS, but the URL is not https (`tls` is False)."""
    if authentication is None:
        return
    if isinstance(authentication, MutualTls):
        if not tls:
            raise invalid(FIELD, "MTLS needs a URL that begins with https://")
    elif any(name.lower() == "authorization" for name, _ in headers):
        raise invalid(FIELD, "sets the header Authorization: remove this header from `headers`")


def changed_secrets(before: Authentication | None, after: Authentication | None) -> list[str]:
    """Return the paths of the secrets that have different values in `before` and `after`. A secret that
    only one of them has is left out."""
    if before is None or after is None:
        return []
    old, new = msgspec.to_builtins(before), msgspec.to_builtins(after)
    return [
        f"{FIELD}.{name}"
        for name in SECRETS
        if name in old and name in new and old[name] != new[name]
    ]


def basic(username: str, password: str) -> str:
    """Return the value of a header Authorization (RFC 7617)."""
    return "Basic " + base64.b64encode(f"{username}:{password}".encode()).decode()


def own_headers(authentication: Authentication | None) -> Headers:
    """Return the headers of a Basic or Bearer authentication. The other kinds have no headers."""
    match authentication:
        case Basic(username, password):
            return (("Authorization", basic(username, password)),)
        case Bearer(token):
            return (("Authorization", f"Bearer {token}"),)
    return ()


def per_attempt(
    authentication: Authentication | None,
) -> ClientCredentials | MutualTls | None:
    """Return the authentication if fixed headers are not enough for it, because each attempt needs a
    token or each connection needs a client certificate. Return None for the other kinds."""
    return authentication if isinstance(authentication, ClientCredentials | MutualTls) else None
