# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of the ways in which destinations prove who sends."""

from typing import Literal, NotRequired, TypedDict


class BasicAuthentication(TypedDict):
    """A user name and a password, sent with every request."""

    kind: Literal["BASIC"]
    username: str
    password: str


class BearerAuthentication(TypedDict):
    """A token that does not change, sent with every request."""

    kind: Literal["BEARER"]
    token: str


class ClientCredentialsAuthentication(TypedDict):
    """Tokens of a token endpoint, fetched when needed and renewed before they expire."""

    kind: Literal["OAUTH2_CLIENT_CREDENTIALS"]
    # http or https; egress rules hold for it.
    tokenUrl: str
    clientId: str
    clientSecret: str
    # Scopes with spaces between.
    scope: NotRequired[str | None]
    # For issuers that want it, as Auth0 does.
    audience: NotRequired[str | None]
    # Where the token endpoint gets id and secret: Basic, or the form.
    clientAuthentication: NotRequired[Literal["HEADER", "BODY"]]


class MutualTlsAuthentication(TypedDict):
    """A certificate that connections to the receiver show; the URL must be https."""

    kind: Literal["MTLS"]
    # PEM, with the chain up to what the receiver trusts.
    certificate: str
    # PEM, without a passphrase. Shown as ***.
    privateKey: str
