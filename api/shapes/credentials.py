"""The shapes of answers about credentials: keys and embed sessions."""

from pydantic import Field

from api.shapes import Timestamp
from engine.drafts import Document, Uuid
from engine.model.words import EnvironmentName, KeyKindName, ScopeName


class ApiKey(Document):
    """A key, without its secret."""

    id: Uuid
    kind: KeyKindName
    name: str
    scope: ScopeName
    environment: EnvironmentName | None = Field(description="Null for an MCP key.")
    prefix: str
    last_four: str
    fingerprint: str = Field(description="What the audit log calls the present secret by.")
    created_at: Timestamp
    last_used_at: Timestamp | None = Field(
        description="From another process than the one that saw it a minute late at the most."
    )
    expires_at: Timestamp | None = Field(
        description="When the present secret ends; null: it does not."
    )


class ApiKeyWithSecret(ApiKey):
    """A key with its secret, which is shown this once."""

    secret: str


class EmbedSession(Document):
    """An embed session."""

    token: str = Field(description="anges_..., for the browser, as a bearer token.")
    expires_at: Timestamp
    customer_account_id: Uuid
    url: str | None = Field(
        description="The portal with the token in its fragment; null where no portal is set."
    )
