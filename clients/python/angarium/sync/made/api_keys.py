# Made of the API's routes by `python -m api.generation`; do not edit.
"""The methods of `client.api_keys` that are made."""

from collections.abc import Iterator
from typing import Unpack

from angarium.calls import Call, at, body_of, query_of
from angarium.filters import ApiKeyFilter
from angarium.shapes import ApiKey, ApiKeyWithSecret, Environment, KeyKind, Page, Scope, Success
from angarium.sync.resource import Resource, follow_pages


class ApiKeys(Resource):
    """API keys and MCP keys: made, listed, rotated, revoked."""

    def create(
        self,
        name: str,
        scope: Scope,
        *,
        kind: KeyKind | None = None,
        environment: Environment | None = None,
    ) -> ApiKeyWithSecret:
        """Create a key.

        The secret is in the answer, once. An API key makes keys of its own environment; an
        MCP key of scope manage makes keys of any environment, and MCP keys. There are at most
        1,000 keys of an environment.
        """
        return self._send(
            Call(
                "POST",
                "/api-keys",
                body=body_of(
                    {"kind": kind, "name": name, "scope": scope, "environment": environment}
                ),
                repeatable=False,
            )
        )

    def list(
        self, *, limit: int | None = None, cursor: str | None = None, **chosen: Unpack[ApiKeyFilter]
    ) -> Page[ApiKey]:
        """List keys: one page.

        The keys of the environment that are not revoked; for an MCP key of scope manage also
        the workspace's MCP keys.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/api-keys", query))

    def iterate(self, **chosen: Unpack[ApiKeyFilter]) -> Iterator[ApiKey]:
        """List keys: all pages.

        The keys of the environment that are not revoked; for an MCP key of scope manage also
        the workspace's MCP keys.
        """
        return follow_pages(self._send, "/api-keys", {**chosen})

    def rotate(self, key_id: str) -> ApiKeyWithSecret:
        """Give a key a new secret.

        The new secret is in the answer, once. The present one stays valid for 24 hours, as
        does every one before it for its own 24; 409 after nine rotations within a day. A
        secret that was rotated out makes, rotates and revokes no key: 403.
        """
        return self._send(Call("POST", at("api-keys", key_id, "rotate"), body={}, repeatable=False))

    def revoke(self, key_id: str) -> Success:
        """Revoke a key.

        Ends all its secrets at once, in other processes within a second. A key may revoke
        itself.
        """
        return self._send(Call("DELETE", at("api-keys", key_id), gone_is_done=True))
