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
    # What the audit log calls the present secret by.
    fingerprint: str
    createdAt: str
    # From another process than the one that saw it a minute late at the most.
    lastUsedAt: str | None
    # When the present secret ends; null: it does not.
    expiresAt: str | None


class ApiKeyWithSecret(TypedDict):
    """A key with its secret, which is shown this once."""

    id: str
    kind: KeyKind
    name: str
    scope: Scope
    # Null for an MCP key.
    environment: Environment | None
    prefix: str
    lastFour: str
    # What the audit log calls the present secret by.
    fingerprint: str
    createdAt: str
    # From another process than the one that saw it a minute late at the most.
    lastUsedAt: str | None
    # When the present secret ends; null: it does not.
    expiresAt: str | None
    secret: str


class KeyDraft(TypedDict):
    """A key as a caller writes it."""

    # MCP keys are made by MCP keys and the command line only.
    kind: NotRequired[KeyKind | None]
    name: str
    # An MCP key has read or manage.
    scope: Scope
    # Of an API key: the caller's own, or the one that an MCP key names here.
    environment: NotRequired[Environment | None]
