# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.api_keys`."""

from typing import NotRequired, TypedDict

from angarium.shapes.words import Environment, KeyKind, Scope


class ApiKey(TypedDict):
    """A key, without its secret."""

    id: str
    kind: KeyKind
    name: str
    scope: Scope
    # Null for an MCP key.
    environment: Environment | None
    prefix: str
    lastFour: str
    # Identifies the present secret in the audit log.
    fingerprint: str
    createdAt: str
    # The last use. Uses in other processes appear up to a minute late.
    lastUsedAt: str | None
    # The time when the present secret expires. Null: never.
    expiresAt: str | None


class ApiKeyWithSecret(TypedDict):
    """A key with its secret, shown only in this answer."""

    id: str
    kind: KeyKind
    name: str
    scope: Scope
    # Null for an MCP key.
    environment: Environment | None
    prefix: str
    lastFour: str
    # Identifies the present secret in the audit log.
    fingerprint: str
    createdAt: str
    # The last use. Uses in other processes appear up to a minute late.
    lastUsedAt: str | None
    # The time when the present secret expires. Null: never.
    expiresAt: str | None
    secret: str


class KeyDraft(TypedDict):
    """A new key."""

    # Only an MCP key or the command line can create an MCP_KEY.
    kind: NotRequired[KeyKind | None]
    name: str
    # The scope. An MCP key has `read` or `manage`.
    scope: Scope
    # The environment of an API key. Needed if an MCP key creates it; otherwise the creator's own.
    environment: NotRequired[Environment | None]
