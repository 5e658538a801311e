"""The shapes of answers about credentials: keys and embed sessions."""

from typing import Annotated

from typing_extensions import TypedDict

from engine.core.vocabulary import Environment
from engine.drafts import Uuid, told
from engine.model.instants import Timestamp
from engine.model.words import KeyKindName, ScopeName, Word


class ApiKey(TypedDict):
    """A key, without its secret."""

    id: Uuid
    kind: KeyKindName
    name: str
    scope: ScopeName
    environment: Annotated[Word[Environment] | None, told("Null for an MCP key.")]
    prefix: str
    lastFour: str
    fingerprint: Annotated[str, told("What the audit log calls the present secret by.")]
    createdAt: Timestamp
    lastUsedAt: Annotated[
        Timestamp | None,
        told("From another process than the one that saw it a minute late at the most."),
    ]
    expiresAt: Annotated[Timestamp | None, told("When the present secret ends; null: it does not.")]


class ApiKeyWithSecret(ApiKey):
    """A key with its secret, which is shown this once."""

    secret: str


class ConsoleSession(TypedDict):
    """A console session."""

    token: Annotated[str, told("angcs_..., for the console, as a bearer token.")]
    expiresAt: Timestamp
    environments: list[Word[Environment]]
    scope: ScopeName


class EmbedSession(TypedDict):
    """An embed session."""

    token: Annotated[str, told("anges_..., for the browser, as a bearer token.")]
    expiresAt: Timestamp
    customerAccountId: Uuid
    url: Annotated[str, told("The portal, with the token in the fragment.")]
