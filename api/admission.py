"""Admission control by a request's credential, scope and rate.

It needs only the head of a request, so the front door calls it before it reads the body. Nothing here
awaits.
"""

import math
from collections.abc import Callable, MutableMapping
from dataclasses import dataclass

from msgspec import Struct

from engine.control.console import CODE_PREFIX
from engine.control.console import PREFIX as CONSOLE_PREFIX
from engine.control.sessions import PREFIX as EMBED_PREFIX
from engine.core.vocabulary import Environment, Scope
from engine.model.errors import Refusal
from engine.model.read_models import Credential, EnvironmentModel, Models, digest_of
from engine.plans.plans import Plans, limits_of

SESSION_PREFIXES = (EMBED_PREFIX, CONSOLE_PREFIX, CODE_PREFIX)
WINDOW_S = 60  # limits are per minute; a fixed window makes the reset exact to the second


@dataclass(slots=True)
class Allowance:
    """A tenant's use of one limit in the present window, as the three rate headers show it."""

    limit: int
    remaining: int
    reset: int  # in seconds since the epoch
    over: int = 0  # requests beyond the limit, which was higher before
    _before: bytes = b""  # the parts of `lines` that do not change
    _after: bytes = b""

    def lines(self) -> bytes:
        """Return the X-RateLimit headers as lines. The bytes begin with a line end and end with a line
        end."""
        if not self._after:
            self._before = b"\r\nx-ratelimit-limit: %d\r\nx-ratelimit-remaining: " % self.limit
            self._after = b"\r\nx-ratelimit-reset: %d\r\n" % self.reset
        return b"%b%d%b" % (self._before, self.remaining, self._after)

    def headers(self) -> list[tuple[bytes, bytes]]:
        return [
            (b"x-ratelimit-limit", b"%d" % self.limit),
            (b"x-ratelimit-remaining", b"%d" % self.remaining),
            (b"x-ratelimit-reset", b"%d" % self.reset),
        ]


class Admission(Struct, frozen=True, gc=False):
    """An admitted caller. `digest` is the digest of the key's secret; empty for a session."""

    credential: Credential
    environment: EnvironmentModel | None
    allowance: Allowance
    digest: bytes = b""


class AdmissionRefusal(Refusal):
    """A refusal by admission control, with the values of the answer's rate headers."""

    allowance: Allowance


class AdmissionControl:
    """The check of credentials and rates. It owns the rate windows, in the trio thread."""

    def __init__(
        self,
        models: Models,
        now: Callable[[], float],
        plans: Plans,
        stale: Callable[[], bool] = lambda: False,
        *,
        sessions: Callable[[bytes, float], Credential | None] = lambda _token, _now: None,
        last_use: MutableMapping[str, float] | None = None,
    ) -> None:
        """`stale` returns True if the models in memory were not confirmed recently. While it returns
        True, every request is refused. `sessions` takes a token and the present time, and returns the
        token's session. `last_use` is a dict that this object fills: it maps each key's id to the time of
        the key's last use."""
        self._sessions = sessions
        self._last_use: MutableMapping[str, float] = {} if last_use is None else last_use
        self._stale = stale
        self._models = models
        self._now = now
        self._plans = plans
        self._windows: dict[tuple[str, bool], Allowance] = {}  # of the present minute only
        self._windows_end = 0  # the end of all windows, in seconds since the epoch

    @property
    def windows(self) -> int:
        return len(self._windows)

    def anonymous(self) -> Allowance:
        """Return the rate headers for a caller without a valid credential. They show the limit of the
        first plan in the list of plans."""
        limit = self._plans.first.control_per_minute
        return Allowance(limit, limit, self._window_end(self._now()))

    def admit(
        self,
        authorization: bytes | None,
        scopes: frozenset[Scope],
        *,
        ingestion: bool,
        origin: bytes | None = None,
        codes: bool = False,
    ) -> Admission:
        """Judge an Authorization header. If several refusals apply, AdmissionRefusal 503 comes before
        401, 401 before 429, and 429 before 403.

        `origin` is the request's Origin header, if a browser sends the request from a page of another
        site. The settings of the credential's workspace must list this origin. If `codes` is True, a
        login code is accepted as a credential too.
        """
        if self._stale():
            raise self._outdated()
        now = self._now()
        secret = self._secret(authorization)
        if secret.startswith(SESSION_PREFIXES):
            digest, credential = b"", self._sessions(secret, now)
        else:
            digest = digest_of(secret)
            credential = self._models.credential_by_digest(digest, now)
        if credential is None or (credential.code and not codes):
            raise self._refusal("unauthorized", "the credential is not valid", self.anonymous())
        allowance = self._spend(credential, ingestion, now)
        if origin is not None and not self._lists(credential.workspace, origin):
            raise self._refusal(
                "forbidden", "the workspace does not list the origin of this request", allowance
            )
        if credential.scope not in scopes:
            raise self._refusal(
                "forbidden",
                f"this key's scope is {credential.scope.name.lower()}: use a key with more rights",
                allowance,
            )
        return Admission(credential, credential.environment, allowance, digest)

    def _lists(self, workspace: str, origin: bytes) -> bool:
        return origin.decode("latin-1") in self._models.settings_of(workspace).origins

    def credential_of(self, authorization: bytes | None) -> Credential | None:
        """Return the credential of an Authorization header, or None if the credential is unknown. The
        call does not count as a request."""
        try:
            secret = self._secret(authorization)
        except AdmissionRefusal:
            return None
        now = self._now()
        if secret.startswith(SESSION_PREFIXES):
            return self._sessions(secret, now)
        return self._models.credential_by_digest(digest_of(secret), now)

    def readmit(
        self, digest: bytes, credential: Credential, *, ingestion: bool
    ) -> Allowance | None:
        """Count a request whose head has the same bytes as an earlier request that was admitted. Return
        None if the credential has changed since the earlier request: then the caller must call `admit`.
        Raises AdmissionRefusal 503 or 429."""
        if self._stale():
            raise self._outdated()
        now = self._now()
        if self._models.credential_by_digest(digest, now) is not credential:
            return None
        return self._spend(credential, ingestion, now)

    def _outdated(self) -> AdmissionRefusal:
        refusal = self._refusal(
            "overloaded",
            "the service cannot check credentials now, try again later",
            self.anonymous(),
        )
        refusal.retry_after_s = 1
        return refusal

    def _secret(self, authorization: bytes | None) -> bytes:
        if authorization is None:
            raise self._refusal("unauthorized", "no Authorization header", self.anonymous())
        scheme, _, secret = authorization.partition(b" ")
        if scheme != b"Bearer" and scheme.lower() != b"bearer":
            raise self._refusal("unauthorized", "the credential is not valid", self.anonymous())
        return secret.strip()

    def _spend(self, credential: Credential, ingestion: bool, now: float) -> Allowance:
        if not self._windows_end - WINDOW_S <= now < self._windows_end:
            self._windows = {}
            self._windows_end = self._window_end(now)
        plan = self._plans.of(credential.workspace)
        if credential.customer is None:
            self._last_use[credential.key_id] = now
            whose = (credential.workspace, ingestion)
            limit = plan.ingest_per_minute if ingestion else plan.control_per_minute
        else:  # one window for each customer, for ingestion and control plane together
            whose = (credential.customer.account, False)
            quotas = self._models.quotas_of(credential.customer.account)
            limit = limits_of(plan, quotas).requests_per_minute
        window = self._windows.get(whose)
        if window is None or window.limit != limit:
            spent = 0 if window is None else window.limit - window.remaining + window.over
            left = limit - spent
            window = Allowance(limit, max(0, left), self._windows_end, max(0, -left))
            self._windows[whose] = window
        if window.remaining <= 0:
            wait = max(1, math.ceil(window.reset - now))
            refusal = self._refusal("rate_limited", f"rate limit exceeded: wait {wait} s", window)
            refusal.retry_after_s = wait
            raise refusal
        window.remaining -= 1
        return window

    @staticmethod
    def _window_end(now: float) -> int:
        return (int(now) // WINDOW_S + 1) * WINDOW_S

    @staticmethod
    def _refusal(code: str, message: str, allowance: Allowance) -> AdmissionRefusal:
        refusal = AdmissionRefusal(code, message)
        refusal.allowance = allowance
        return refusal


def with_allowance(refusal: Refusal, allowance: Allowance) -> AdmissionRefusal:
    """Return `refusal` with the answer's rate headers."""
    if isinstance(refusal, AdmissionRefusal):
        return refusal
    refused = AdmissionRefusal(
        refusal.code, refusal.message, refusal.details, refusal.retry_after_s
    )
    refused.allowance = allowance
    return refused


def named_environment(value: str) -> Environment:
    """Return the environment. Raises Refusal `invalid_request`."""
    try:
        return Environment[value]
    except KeyError:
        raise Refusal("invalid_request", f"unknown environment {value!r}") from None
