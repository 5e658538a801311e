"""The ways in which a destination proves to its receiver who sends, with their secrets in clear.

The JSON of a record, tagged with `kind`, is what callers write and what the store keeps.
"""

from typing import Literal

from msgspec import Struct

Where = Literal["HEADER", "BODY"]


class Basic(Struct, frozen=True, rename="camel", tag_field="kind", tag="BASIC"):
    """A user name and a password (RFC 7617)."""

    username: str
    password: str


class Bearer(Struct, frozen=True, rename="camel", tag_field="kind", tag="BEARER"):
    """A token that does not change (RFC 6750)."""

    token: str


class ClientCredentials(
    Struct, frozen=True, rename="camel", tag_field="kind", tag="OAUTH2_CLIENT_CREDENTIALS"
):
    """A client of a token endpoint (RFC 6749, 4.4), whose tokens are sent as BEARER."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str | None
    audience: str | None
    client_authentication: Where  # where the token endpoint finds id and secret


class MutualTls(Struct, frozen=True, rename="camel", tag_field="kind", tag="MTLS"):
    """A certificate chain with its key, both PEM, that connections to the receiver show."""

    certificate: str
    private_key: str


Authentication = Basic | Bearer | ClientCredentials | MutualTls
# The members that are encrypted at rest and shown as the mask.
SECRETS = ("password", "token", "clientSecret", "privateKey")
