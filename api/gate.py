"""The gate: who is calling, whether they may, and what is left of their rate, for both lanes.

The front door asks at the head of a request, before a byte of its body is read; the Quart application
asks for everything else. Nothing here awaits.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from msgspec import Struct

from engine.core.vocabulary import CredentialKind, Environment, Scope
from engine.errors import Refusal
from engine.models import Credential, EnvironmentModel, Models, digest_of

WINDOW_S = (
    60  # limits are stated by the minute; a fixed window lets the reset be told to the second
)
CONTROL_LIMIT = {"free": 120, "pro": 1_200, "scale": 12_000}
INGEST_LIMIT = {"free": 6_000, "pro": 600_000, "scale": 60_000_000}


@dataclass(slots=True)
class Allowance:
    """A tenant's use of one limit in the present window; also what the three headers say."""

    limit: int
    remaining: int
    reset: int  # seconds since the epoch

    def headers(self) -> list[tuple[bytes, bytes]]:
        """Return the X-RateLimit headers."""
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]


class Admission(Struct, frozen=True, gc=False):
    """A caller who was let in. `digest` is that of the secret, by which it can be admitted again."""

    credential: Credential
    environment: EnvironmentModel | None
    allowance: Allowance
    digest: bytes = b""


class GateRefusal(Refusal):
    """A refusal at the gate, with what the rate headers of its answer must say."""

    allowance: Allowance


class Gate:
    """Credentials and rates. Owner of the windows: the trio thread."""

    def __init__(
        self,
        models: Models,
        now: Callable[[], float],
        control_limit: int | None = None,
        ingest_limit: int | None = None,
        stale: Callable[[], bool] = lambda: False,
    ) -> None:
        """`stale`: whether what is known of keys may be older than is allowed; then nobody gets in."""
        self._stale = stale
        self._models = models
        self._now = now
        self._control_limit = control_limit
        self._ingest_limit = ingest_limit
        self._windows: dict[tuple[str, bool], Allowance] = {}

    def anonymous(self) -> Allowance:
        """Return what answers carry before a tenant is known: the control plane's default."""
        limit = self._control_limit or CONTROL_LIMIT["scale"]
        return Allowance(limit, limit, self._window_end(self._now()))

    def admit(
        self, authorization: bytes | None, scopes: frozenset[Scope], *, ingestion: bool
    ) -> Admission:
        """Judge an Authorization header. Raises GateRefusal 503, 401, 429 or 403, in that order."""
        if self._stale():
            raise self._outdated()
        now = self._now()
        digest = self._digest(authorization)
        credential = self._models.credential_by_digest(digest, now)
        if credential is None:
            raise self._refusal("unauthorized", "the credential is not valid", self.anonymous())
        allowance = self._spend(credential.workspace, ingestion, now)
        if credential.scope not in scopes:
            raise self._refusal(
                "forbidden", f"this key's scope is {credential.scope.name.lower()}", allowance
            )
        return Admission(credential, credential.environment, allowance, digest)

    def readmit(
        self, digest: bytes, credential: Credential, *, ingestion: bool
    ) -> Allowance | None:
        """Count another request of a caller who was admitted for the very same: None when the secret
        no longer stands for `credential`, so that the request must be judged anew. Raises GateRefusal
        503 or 429."""
        if self._stale():
            raise self._outdated()
        now = self._now()
        if self._models.credential_by_digest(digest, now) is not credential:
            return None
        return self._spend(credential.workspace, ingestion, now)

    def _outdated(self) -> GateRefusal:
        refusal = self._refusal(
            "overloaded",
            "the service cannot check credentials now, try again later",
            self.anonymous(),
        )
        refusal.retry_after_s = 1
        return refusal

    def _digest(self, authorization: bytes | None) -> bytes:
        if authorization is None:
            raise self._refusal("unauthorized", "no Authorization header", self.anonymous())
        scheme, _, secret = authorization.partition(b" ")
        if scheme != b"Bearer" and scheme.lower() != b"bearer":
            raise self._refusal("unauthorized", "the credential is not valid", self.anonymous())
        return digest_of(secret.strip())

    def _spend(self, workspace: str, ingestion: bool, now: float) -> Allowance:
        window = self._windows.get((workspace, ingestion))
        limit = self._limit(workspace, ingestion)
        if window is None or window.reset <= now or window.limit != limit:
            window = Allowance(limit, limit, self._window_end(now))
            self._windows[workspace, ingestion] = window
        if window.remaining <= 0:
            wait = max(1, math.ceil(window.reset - now))
            refusal = self._refusal("rate_limited", f"rate limit exceeded: wait {wait} s", window)
            refusal.retry_after_s = wait
            raise refusal
        window.remaining -= 1
        return window

    def _limit(self, workspace: str, ingestion: bool) -> int:
        override = self._ingest_limit if ingestion else self._control_limit
        if override is not None:
            return override
        table = INGEST_LIMIT if ingestion else CONTROL_LIMIT
        known = self._models.workspaces.get(workspace)
        return table[known.plan if known else "free"]

    @staticmethod
    def _window_end(now: float) -> int:
        return (int(now) // WINDOW_S + 1) * WINDOW_S

    @staticmethod
    def _refusal(code: str, message: str, allowance: Allowance) -> GateRefusal:
        refusal = GateRefusal(code, message)
        refusal.allowance = allowance
        return refusal


def named_environment(value: str) -> Environment:
    """Return the environment of that name. Raises Refusal `invalid_request`."""
    try:
        return Environment[value]
    except KeyError:
        raise Refusal("invalid_request", f"unknown environment {value!r}") from None


def same_environment(admission: Admission, value: str) -> None:
    """Refuse with 403 when an API key's request names another environment than the key's own."""
    wanted = named_environment(value)
    own = admission.environment
    if (
        admission.credential.kind is CredentialKind.API_KEY
        and own is not None
        and own.name is not wanted
    ):
        raise Refusal("forbidden", f"this key belongs to {own.name.name}")
