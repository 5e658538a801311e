# Made from angarium/aio by generate_sync.py; do not edit.
"""Credentials: API keys, and embed sessions for end-customers' browsers."""

from collections.abc import Iterator
from typing import Literal

from angarium.calls import Call, at, body_of, query_of
from angarium.shapes import (
    ApiKey,
    EmbedContext,
    EmbedSession,
    Environment,
    Page,
    Scope,
    Success,
)
from angarium.sync.resource import Resource, follow_pages


class ApiKeys(Resource):
    """Keys. One sees and manages those of its own environment."""

    def create(
        self,
        name: str,
        scope: Scope,
        *,
        environment: Environment | None = None,
        kind: Literal["API_KEY", "MCP_KEY"] = "API_KEY",
    ) -> ApiKey:
        """Make a key. The answer's `secret` is shown this once."""
        body = {"kind": kind, "name": name, "scope": scope, "environment": environment}
        return self._send(Call("POST", "/api-keys", body=body_of(body), repeatable=False))

    def list(self, *, limit: int | None = None, cursor: str | None = None) -> Page[ApiKey]:
        """Return one page of keys, without their secrets."""
        query = query_of({"limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/api-keys", query))

    def iterate(self) -> Iterator[ApiKey]:
        """Yield all keys, newest first."""
        return follow_pages(self._send, "/api-keys", {})

    def rotate(self, key_id: str) -> ApiKey:
        """Give a key a new secret, shown this once. The present one stays valid for 24 hours."""
        path = at("api-keys", key_id, "rotate")
        return self._send(Call("POST", path, body={}, repeatable=False))

    def revoke(self, key_id: str) -> Success:
        """End a key with all its secrets, now."""
        return self._send(Call("DELETE", at("api-keys", key_id), gone_is_done=True))


class EmbedSessions(Resource):
    """Tokens for end-customers' browsers."""

    def create(self, customer_external_id: str, *, ttl_seconds: int | None = None) -> EmbedSession:
        """Make a token for one end-customer; it lives 5 minutes, or 60 to 900 seconds as asked."""
        body = body_of({"customer_external_id": customer_external_id, "ttl_seconds": ttl_seconds})
        return self._send(Call("POST", "/embed/sessions", body=body))

    def context(self) -> EmbedContext:
        """Return what a portal draws itself from; for a client whose key is a session's token."""
        return self._send(Call("GET", "/embed/context"))
