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
    # It identifies the present secret in the audit log.
    fingerprint: str
    createdAt: str
    # Uses in another process appear up to a minute late.
    lastUsedAt: str | None
    # When the present secret expires; null: never.
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
    # It identifies the present secret in the audit log.
    fingerprint: str
    createdAt: str
    # Uses in another process appear up to a minute late.
    lastUsedAt: str | None
    # When the present secret expires; null: never.
    expiresAt: str | None
    secret: str


class KeyDraft(TypedDict):
    """The description of a new key."""

    # Only MCP keys and the command line can create MCP keys.
    kind: NotRequired[KeyKind | None]
    name: str
    # An MCP key has read or manage.
    scope: Scope
    # For an API key: the caller's own environment, or the one that an MCP key names here.
    environment: NotRequired[Environment | None]
