# Made of the API's routes by `python -m api.generation`; do not edit.
"""The generated methods of `client.api_keys`."""

from collections.abc import Iterator
from typing import Unpack

from angarium.calls import Call, at, body_of, query_of
from angarium.filters import ApiKeyFilter
from angarium.shapes import ApiKey, ApiKeyWithSecret, Environment, KeyKind, Page, Scope, Success
from angarium.sync.resource import Resource, follow_pages


class ApiKeys(Resource):
    """API keys and MCP keys: create, list, rotate and revoke them."""

    def create(
        self,
        name: str,
        scope: Scope,
        *,
        kind: KeyKind | None = None,
        environment: Environment | None = None,
    ) -> ApiKeyWithSecret:
        """Create a key.

        Only this answer has the secret. An API key creates keys of its own environment. An
        MCP key of scope `manage` creates keys of any environment, and MCP keys. An
        environment has at most 1,000 keys.
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

        Lists the keys of the environment that are not revoked. An MCP key of scope `manage`
        also sees the workspace's MCP keys.
        """
        query = query_of({**chosen, "limit": limit, "cursor": cursor})
        return self._send(Call("GET", "/api-keys", query))

    def iterate(self, **chosen: Unpack[ApiKeyFilter]) -> Iterator[ApiKey]:
        """List keys: all pages.

        Lists the keys of the environment that are not revoked. An MCP key of scope `manage`
        also sees the workspace's MCP keys.
        """
        return follow_pages(self._send, "/api-keys", {**chosen})

    def rotate(self, key_id: str) -> ApiKeyWithSecret:
        """Give a key a new secret.

        Only this answer has the new secret. Each former secret stays valid for 24 hours after
        its rotation; 409 after nine rotations within a day. A former secret cannot create,
        rotate or revoke keys: 403.
        """
        return self._send(Call("POST", at("api-keys", key_id, "rotate"), body={}, repeatable=False))

    def revoke(self, key_id: str) -> Success:
        """Revoke a key.

        All secrets of the key end at once; in other processes within a second. A key can
        revoke itself.
        """
        return self._send(Call("DELETE", at("api-keys", key_id), gone_is_done=True))
