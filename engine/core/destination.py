"""A destination as the engine sees it: one immutable version of its configuration."""

from typing import Literal

from msgspec import Struct

from engine.core.vocabulary import DestinationStatus, HttpMethod, Ordering, SigningAlgorithm

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
    """The credentials for a token endpoint (RFC 6749, 4.4). Requests to the receiver carry the endpoint's
    tokens as BEARER."""

    token_url: str
    client_id: str
    client_secret: str
    scope: str | None
    audience: str | None
    client_authentication: Where


class MutualTls(Struct, frozen=True, rename="camel", tag_field="kind", tag="MTLS"):
    """The client certificate for connections to the receiver: chain and key, both PEM."""

    certificate: str
    private_key: str


Authentication = Basic | Bearer | ClientCredentials | MutualTls
# Encrypted at rest; the API shows them masked.
SECRETS = ("password", "token", "clientSecret", "privateKey")


CONCURRENCY = 8  # the default; an adaptive limit begins there
# The upper bound of a destination's concurrency, fixed or adaptive. Few receivers can handle more.
MOST_CONCURRENCY = 256
DEFAULT_RETRY_SCHEDULE_S = (5, 300, 1800, 7200, 18000, 36000, 50400, 72000, 86400)


class SigningKey(Struct, frozen=True):
    """One signing key. `expires_at` (seconds since the epoch) is set when a new key replaces this key."""

    algorithm: SigningAlgorithm
    key: bytes  # HMAC: the raw secret; Ed25519: the 32-byte private seed
    expires_at: float | None = None


class Target(Struct, frozen=True):
    """The parts of a destination's URL, split once at configuration time."""

    tls: bool
    host: str  # a name in ASCII (IDNA) or an address without brackets; what SNI carries
    port: int
    authority: bytes  # the Host header
    path: bytes  # origin form, with the query


class Transform(Struct, frozen=True):
    """The transform script that is live at a destination: JavaScript over the outbound body."""

    id: str
    version: int  # counts from 1 at its destination; attempts record it
    source: str


class Template(Struct, frozen=True):
    """The template of a destination, and the configuration that the destination gives the template."""

    id: str
    config: bytes  # JSON, in clear
    shown: bytes  # `config` with null for each secret


class Destination(Struct, frozen=True, kw_only=True):
    """One version of a destination's configuration."""

    id: str
    environment: int
    workspace: str
    version: int  # counts from 1; attempts record it
    status: DestinationStatus
    name: str
    url: str
    target: Target
    headers: tuple[tuple[bytes, bytes], ...] = ()
    concurrency: int = CONCURRENCY
    adapts: bool = False  # the state machine finds the limit; `concurrency` is its upper bound
    ordering: Ordering = Ordering.NONE
    timeout_ms: int = 15_000
    rate_per_second: float | None = None
    dry_run: bool = False
    retry_schedule_s: tuple[int, ...] = DEFAULT_RETRY_SCHEDULE_S
    signing: tuple[SigningKey, ...] = ()  # the current key first
    customer: str | None = None  # the customerExternalId of the customer that owns the destination
    customer_account: str | None = None
    transform: Transform | None = None
    template: Template | None = None
    method: HttpMethod = HttpMethod.POST
    authentication: ClientCredentials | MutualTls | None = None  # other kinds are among `headers`
    disable_after_s: int | None = None
    enabled_version: int = 0  # the version that last enabled the destination; 0: unknown
    moved_version: int = 0  # the version that last changed the destination's URL; 0: unknown
