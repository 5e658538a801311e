# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of the authentication of destinations."""

from typing import Literal, NotRequired, TypedDict


class BasicAuthentication(TypedDict):
    """A user name and a password, sent with every request."""

    kind: Literal["BASIC"]
    username: str
    password: str


class BearerAuthentication(TypedDict):
    """A fixed token, sent with every request."""

    kind: Literal["BEARER"]
    token: str


class ClientCredentialsAuthentication(TypedDict):
    """Tokens from a token endpoint, fetched when needed and renewed before they expire."""

    kind: Literal["OAUTH2_CLIENT_CREDENTIALS"]
    # http or https. The server checks its address like a destination's.
    tokenUrl: str
    clientId: str
    clientSecret: str
    # Scopes, separated by spaces.
    scope: NotRequired[str | None]
    # The audience of the token, for issuers that require it, such as Auth0.
    audience: NotRequired[str | None]
    # The place of id and secret in token requests: a Basic header, or the form.
    clientAuthentication: NotRequired[Literal["HEADER", "BODY"]]


class MutualTlsAuthentication(TypedDict):
    """A client certificate for connections to the receiver. The URL must be https."""

    kind: Literal["MTLS"]
    # PEM, with the chain up to a certificate that the receiver trusts.
    certificate: str
    # PEM, without a passphrase. Shown as ***.
    privateKey: str
