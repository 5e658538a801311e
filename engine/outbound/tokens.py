"""The tokens of destinations that authenticate with OAuth 2.0 client credentials (RFC 6749, 4.4).

Destinations of one environment that name the same client share its token. The endpoint's address is
checked like a receiver's. Nothing here retries.
"""

import json
import re
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, nullcontext
from typing import Any
from urllib.parse import quote_plus, urlencode

import structlog
import trio
from msgspec import Struct

from engine.core.destination import ClientCredentials
from engine.core.vocabulary import ErrorCategory
from engine.model.authentication import TOKEN_LENGTH, basic
from engine.model.errors import Refusal
from engine.outbound.ports import Failure
from engine.runtime.fair_cache import FairCache
from engine.runtime.fair_semaphore import FairSemaphore
from engine.wire.failure import RETRY_AFTER_STATUSES, WireError, retry_after_s
from engine.wire.fetch_stream import FetchStream
from engine.wire.target import parse_target
from engine.wire.wiring import Wiring

FETCH_S = 15.0  # like the default timeout of a destination
ANSWER_BYTES = 64 * 1024  # of a token endpoint's answer: a token and some words
# A token's life if the endpoint's answer has no `expires_in`: one hour, as usual.
LIFE_S = 3_600.0
EARLY_S = 30.0  # before its end, a token is renewed: clocks differ, and requests take time
EARLY_SHARE = 0.2  # an early renewal takes at most this part of a short life
# Seconds for which a failed fetch is remembered. An attempt in this time fails without a fetch of its
# own. Otherwise a thousand deliveries would cause a thousand requests to an endpoint that is down.
FAILED_S = 1.0
# The limit on the tokens in memory. Each token has at most 6 KiB. At the limit, a new token replaces
# another token. If the new token's workspace already has more than its share (the limit divided by the
# number of workspaces with tokens), the replaced token is the workspace's own least recently used token.
KEPT = 4_096
# Limits on simultaneous fetches. Each fetch has a connection and a task; environments have fair shares.
AT_ONCE = 32
AT_ONCE_EACH = 4  # fetches of one environment: its endpoints can all hang
# The limit on simultaneous fetches for one customer. It is lower than `AT_ONCE_EACH`: if all endpoints of
# one customer hang, the environment's other customers can still fetch tokens.
AT_ONCE_CUSTOMER = 2
NO_LIMIT = 1 << 30  # for all customers together: AT_ONCE and AT_ONCE_EACH bound them
WAITING_EACH = 1_024  # clients of one environment or customer that wait for a fetch

log = structlog.get_logger("angarium.outbound")
Key = tuple[int, str, ClientCredentials]  # environment and its workspace
Done = Callable[[bytes | Failure], None]
Spawn = Callable[[Callable[..., Awaitable[object]], Key, str | None], None]


class KeptToken(Struct, frozen=True):
    """The result of a fetch: the value of the header Authorization, or why the fetch failed. The result
    is valid until `until`, a time of trio's clock.
    """

    result: bytes | Failure
    until: float


class Tokens:
    """Owner of the tokens of one process, on the trio thread."""

    def __init__(self, wiring: Wiring, spawn: Spawn, now: Callable[[], float]) -> None:
        """`spawn` starts a task; `now` returns Unix time."""
        self._wiring = wiring
        self._spawn = spawn
        self._now = now
        self._kept: FairCache[str, Key, KeptToken] = FairCache(KEPT, KEPT)
        self._waiting: dict[Key, list[Done]] = {}
        self._turns = FairSemaphore(AT_ONCE, AT_ONCE_EACH, WAITING_EACH, portion=1)
        self._customers = FairSemaphore(NO_LIMIT, AT_ONCE_CUSTOMER, WAITING_EACH)
        self.fetched = 0

    def get(self, key: Key, done: Done, customer: str | None = None) -> None:
        """Call `done`, now or later, with the value of the header Authorization, or a Failure.

        If a fetch is needed, it counts towards the limit `AT_ONCE_CUSTOMER` of `customer`, which is the
        account that the destination belongs to.
        """
        kept = self._kept.found.get(key)
        if kept is not None and kept.until > trio.current_time():
            self._kept.used(key[1], key)
            done(kept.result)
            return
        waiting = self._waiting.get(key)
        if waiting is not None:
            waiting.append(done)
            return
        self._waiting[key] = [done]
        self._spawn(self._fetch, key, customer)

    def refused(self, key: Key, value: bytes) -> None:
        """Forget a token that a receiver answered with 401, unless another token has replaced it."""
        kept = self._kept.found.get(key)
        if kept is not None and kept.result == value:
            self._kept.drop(key[1], key)

    async def _fetch(self, key: Key, customer: str | None) -> None:
        environment, workspace, client = key
        result: bytes | Failure
        keep_s = FAILED_S
        try:
            with trio.fail_after(FETCH_S):
                async with self._share(customer), self._turns.held(environment):
                    self.fetched += 1
                    result, keep_s = await self._asked(workspace, client)
        except Refusal as refusal:
            result = Failure(ErrorCategory.AUTHENTICATION, refusal.message)
        except WireError as error:
            category = error.category
            if category is not ErrorCategory.BLOCKED_ADDRESS:
                category = ErrorCategory.AUTHENTICATION
            result = Failure(category, f"the token endpoint: {error.message}")
        except trio.TooSlowError:
            words = f"the token endpoint took longer than {FETCH_S:g} s"
            result = Failure(ErrorCategory.AUTHENTICATION, words)
        except Exception:  # a barrier: only the attempts that wait for this token fail
            log.exception("token.fetch_broken", workspace=workspace)
            result = Failure(ErrorCategory.INTERNAL, "the token could not be fetched")
        finally:
            waiting = self._waiting.pop(key)
        if isinstance(result, Failure):
            log.debug("token.fetch_failed", workspace=workspace, reason=result.message)
        self._kept.put(workspace, key, KeptToken(result, trio.current_time() + keep_s))
        for done in waiting:
            try:
                done(result)
            except Exception:  # a barrier: the other attempts get the token
                log.exception("attempt.token_failed", workspace=workspace)

    def _share(self, customer: str | None) -> AbstractAsyncContextManager[None]:
        return nullcontext() if customer is None else self._customers.held(customer)

    async def _asked(
        self, workspace: str, client: ClientCredentials
    ) -> tuple[bytes | Failure, float]:
        """Ask the endpoint for a token. Return two values: the result (the value of the header
        Authorization, or a Failure), and the number of seconds for which to keep this result."""
        try:
            target = parse_target(client.token_url)
        except Refusal as refusal:  # the rules are stricter than when the URL was stored
            return Failure(ErrorCategory.AUTHENTICATION, refusal.message), FAILED_S
        headers, body = token_request(client)
        stream = FetchStream(self._wiring, target, workspace, FETCH_S)
        async with stream:
            answer = await stream.ask(b"POST", headers, body)
            content = b""
            while piece := await stream.read():
                content += piece
                if len(content) > ANSWER_BYTES:
                    raise WireError(ErrorCategory.PROTOCOL, "its answer is too long")
        if answer.status == 200:
            return token_of(content)
        wait_s = None
        if answer.status in RETRY_AFTER_STATUSES:
            wait_s = retry_after_s(answer.fields, self._now())
        words = f"the token endpoint answered {answer.status}{_reason(content)}"
        failure = Failure(ErrorCategory.AUTHENTICATION, words, retry_after_s=wait_s)
        return failure, FAILED_S


def token_request(client: ClientCredentials) -> tuple[tuple[tuple[bytes, bytes], ...], bytes]:
    """Return the headers and the form of a token request (RFC 6749, 2.3.1 and 4.4.2)."""
    form = {"grant_type": "client_credentials"}
    optional = {"scope": client.scope, "audience": client.audience}
    form |= {name: value for name, value in optional.items() if value is not None}
    headers = [(b"content-type", b"application/x-www-form-urlencoded")]
    if client.client_authentication == "BODY":
        form |= {"client_id": client.client_id, "client_secret": client.client_secret}
    else:
        value = basic(quote_plus(client.client_id), quote_plus(client.client_secret))
        headers.append((b"authorization", value.encode()))
    body = urlencode(form).encode()
    headers.append((b"content-length", str(len(body)).encode()))
    return tuple(headers), body


def token_of(content: bytes) -> tuple[bytes | Failure, float]:
    """Read the answer of a token endpoint. Return two values: the result (the value of the header
    Authorization, or a Failure), and the number of seconds for which to keep this result."""
    document = _json(content)
    token, kind = document.get("access_token"), document.get("token_type", "bearer")
    if not isinstance(token, str) or not isinstance(kind, str) or kind.lower() != "bearer":
        words = "the token endpoint answered without a bearer token"
        return Failure(ErrorCategory.AUTHENTICATION, words), FAILED_S
    if not token or len(token) > TOKEN_LENGTH or not all("!" <= letter <= "~" for letter in token):
        words = "the token endpoint answered with a token that no header can hold"
        return Failure(ErrorCategory.AUTHENTICATION, words), FAILED_S
    life = document.get("expires_in", LIFE_S)
    if isinstance(life, str) and re.fullmatch("[0-9]{1,11}", life):  # some services send a string
        life = int(life)
    if isinstance(life, bool) or not isinstance(life, int | float) or not 0 < life < 1e9:
        life = LIFE_S
    return f"Bearer {token}".encode(), life - min(EARLY_S, life * EARLY_SHARE)


def _reason(content: bytes) -> str:
    """Return the error code of an answer (RFC 6749, 5.2). The code contains no secrets."""
    code = _json(content).get("error")
    known = isinstance(code, str) and len(code) <= 64 and code.replace("_", "").isalnum()
    return f" ({code})" if known else ""


def _json(content: bytes) -> dict[str, Any]:
    try:
        document = json.loads(content)
    except (ValueError, RecursionError):
        return {}
    return document if isinstance(document, dict) else {}
