"""Who calls: the context of a credential, API keys and embed sessions."""

from typing import Literal, NotRequired, TypedDict

from angarium.shapes.vocabulary import CredentialKind, Environment, Scope


class AuthContext(TypedDict):
    """Who a credential is. What does not apply is null."""

    kind: CredentialKind
    workspaceId: str
    workspaceName: str
    environment: Environment | None
    scope: Scope | None
    keyId: str | None
    customerAccountId: str | None
    customerExternalId: str | None
    plan: str
    expiresAt: str | None


class ApiKey(TypedDict):
    """A key. `secret` is there in the answer to its creation and to a rotation only."""

    id: str
    kind: Literal["API_KEY", "MCP_KEY"]
    name: str
    scope: Scope
    environment: Environment | None
    prefix: str
    lastFour: str
    fingerprint: str
    createdAt: str
    lastUsedAt: str | None
    expiresAt: str | None
    secret: NotRequired[str]


class EmbedSession(TypedDict):
    """A token for an end-customer's browser; `url` is null where no portal is set."""

    token: str
    expiresAt: str
    customerAccountId: str
    url: str | None
