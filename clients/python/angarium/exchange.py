"""The exchange of one call, for both clients: its requests, and the decision after each answer. No
network."""

import random
from dataclasses import dataclass, field
from typing import Any

import httpx

from angarium.calls import Call
from angarium.errors import (
    AngariumError,
    ArgumentError,
    ConnectionFailedError,
    UnexpectedAnswerError,
    error_from,
)
from angarium.retry import RetryPolicy, retry_after_s

VERSION = "0.1.0"
TIMEOUT_S = 30.0  # a commit takes milliseconds, but a restart of the database half a minute

GONE = 404
UNAVAILABLE = 503
DOUBTFUL_PROXY = 502  # for a 503 that a proxy wrote: the service can have performed the call

# The errors that httpx raises before it has sent a byte of the request. The call had no effect.
NOT_SENT = (httpx.ConnectError, httpx.ConnectTimeout, httpx.PoolTimeout)


@dataclass(frozen=True, slots=True)
class Again:
    """The decision to make another attempt after a delay."""

    delay_s: float


@dataclass(slots=True)
class Exchange:
    """The state of one call over its attempts."""

    call: Call[Any]
    policy: RetryPolicy
    attempt: int = field(default=0)

    def request(self, http: httpx.Client | httpx.AsyncClient) -> httpx.Request:
        """Return the next attempt's request."""
        self.attempt += 1
        content, upload = self.call.content(), self.call.upload
        headers = {}
        if content is not None or upload is not None:
            headers["content-type"] = self.call.content_type
        if upload is not None:
            headers["content-length"] = str(upload.size)
        request = http.build_request(
            self.call.method,
            self.call.path,
            params=dict(self.call.query),
            content=content,
            headers=headers,
            timeout=_longest(http.timeout, self.call.takes_s),
        )
        if upload is not None:
            request.stream = upload
        return request

    def answered(self, response: httpx.Response) -> Any:
        """Return the answer's JSON, or `Again` if the call must be repeated. Raises ApiError or
        UnexpectedAnswerError."""
        if response.is_success:
            try:
                return response.json()
            except ValueError:
                raise UnexpectedAnswerError(
                    f"status {response.status_code} without JSON: is this address Angarium's?"
                ) from None
        if response.status_code == GONE and self.call.gone_is_done and self.attempt > 1:
            return {"success": True}  # an earlier attempt succeeded, whose answer was lost
        wait_s = retry_after_s(response.headers.get("retry-after"))
        body = _json_or_none(response)
        status = response.status_code
        if status == UNAVAILABLE and not (isinstance(body, dict) and body.get("code")):
            status = DOUBTFUL_PROXY
        delay_s = self._delay_s(status, reached=True, wait_s=wait_s)
        if delay_s is not None:
            return Again(delay_s)
        raise error_from(
            response.status_code,
            body,
            wait_s,
            response.headers.get("x-request-id"),
        )

    def failed(self, error: httpx.RequestError) -> Again:
        """Return `Again` after an attempt without an answer, if the call must be repeated. Raises
        ConnectionFailedError."""
        delay_s = self._delay_s(None, reached=not isinstance(error, NOT_SENT), wait_s=None)
        if delay_s is not None:
            return Again(delay_s)
        what = str(error) or type(error).__name__
        raise ConnectionFailedError(f"{self.call.method} {self.call.path}: {what}") from error

    def _delay_s(self, status: int | None, *, reached: bool, wait_s: float | None) -> float | None:
        return self.policy.delay_s(
            self.attempt,
            status=status,
            repeatable=self.call.repeatable,
            reached=reached,
            retry_after_s=wait_s,
            jitter=random.random(),  # noqa: S311 - spreads retries, guards nothing
        )


def refused(response: httpx.Response) -> AngariumError:
    """Return the error of an answer that should have been bytes. Its body must have been read."""
    wait_s = retry_after_s(response.headers.get("retry-after"))
    request_id = response.headers.get("x-request-id")
    return error_from(response.status_code, _json_or_none(response), wait_s, request_id)


def client_options(
    base_url: str, api_key: str, environment: str | None, timeout_s: float, trust_env: bool
) -> dict[str, Any]:
    """Return the keyword arguments for either of httpx's clients. Raises ArgumentError."""
    try:
        url = httpx.URL(base_url)
        url.host.encode("idna")  # as the address look-up does, which would raise another error
    except (httpx.InvalidURL, UnicodeError) as error:
        raise ArgumentError(f"base_url is no address: {error}") from None
    if url.scheme not in ("http", "https") or not url.host:
        raise ArgumentError("base_url begins with http:// or https:// and a host")
    if not api_key.isascii() or not api_key or any(character <= " " for character in api_key):
        raise ArgumentError("the API key is empty or has spaces or line ends in it")
    headers = {
        "authorization": f"Bearer {api_key}",
        "accept": "application/json",
        "user-agent": f"angarium-client-python/{VERSION}",
    }
    if environment is not None:
        headers["x-environment"] = environment
    return {
        "base_url": base_url.rstrip("/"),
        "headers": headers,
        "timeout": timeout_s,
        "trust_env": trust_env,
        "follow_redirects": False,  # the key must not be sent to another address
    }


def _longest(usual: httpx.Timeout, takes_s: float) -> httpx.Timeout:
    """Return the client's timeout, or a longer one if the call needs it."""
    if usual.read is None or usual.read >= takes_s:
        return usual
    return httpx.Timeout(usual.connect, read=takes_s)


def _json_or_none(response: httpx.Response) -> Any:
    try:
        return response.json()
    except ValueError:
        return None
