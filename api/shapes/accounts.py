"""The shapes of answers about a workspace, its customers' accounts, and credentials."""

from typing import Annotated

from typing_extensions import TypedDict

from api.shapes import PERMISSIONS, Abilities, Looks, ReturnUrl
from engine.control.customers import PermissionsDraft, QuotasDraft
from engine.control.views import QuotasDocument
from engine.control.workspace_settings import SettingsDraft
from engine.core.vocabulary import Environment
from engine.drafts import DocumentedAs, Uuid, doc
from engine.model.instants import Timestamp
from engine.model.words import KeyKindName, ScopeName, Word


class ApiKey(TypedDict):
    """A key, without its secret."""

    id: Uuid
    kind: KeyKindName
    name: str
    scope: ScopeName
    environment: Annotated[Word[Environment] | None, doc("Null for an MCP key.")]
    prefix: str
    lastFour: str
    fingerprint: Annotated[str, doc("Identifies the present secret in the audit log.")]
    createdAt: Timestamp
    lastUsedAt: Annotated[
        Timestamp | None,
        doc("The last use. Uses in other processes appear up to a minute late."),
    ]
    expiresAt: Annotated[
        Timestamp | None, doc("The time when the present secret expires. Null: never.")
    ]


class ApiKeyWithSecret(ApiKey):
    """A key with its secret, shown only in this answer."""

    secret: str


class ConsoleSession(TypedDict):
    """A console session."""

    token: Annotated[str, doc("angcs_...: the console's bearer token.")]
    expiresAt: Timestamp
    environments: list[Word[Environment]]
    scope: ScopeName


class EmbedSession(TypedDict):
    """An embed session."""

    token: Annotated[str, doc("anges_...: the browser's bearer token.")]
    expiresAt: Timestamp
    customerAccountId: Uuid
    url: Annotated[str, doc("The address of the portal, with the token in the fragment.")]


class CustomerLimits(TypedDict):
    """The limits of a customer's embed sessions."""

    destinations: int
    rules: int
    transforms: int
    requestsPerMinute: int


class CustomerUse(TypedDict):
    """The numbers of a customer's objects, whoever created them."""

    destinations: Annotated[int, doc("Destinations, without archived ones.")]
    rules: int
    transforms: int


class CustomerErasure(TypedDict):
    """The last request to erase a customer's contents."""

    requestedAt: Timestamp
    finishedAt: Annotated[Timestamp | None, doc("Null while the erasure runs.")]
    events: Annotated[int, doc("The number of events erased so far.")]


class CustomerItem(TypedDict):
    """A customer's account in a list."""

    customerExternalId: str
    customerAccountId: Uuid
    name: str | None
    quotas: Annotated[QuotasDocument, DocumentedAs(QuotasDraft)]
    createdAt: Annotated[Timestamp, doc("The time when an object first named the customer.")]


class Customer(CustomerItem):
    """A customer's account."""

    permissions: Annotated[dict[str, bool | None], DocumentedAs(PermissionsDraft)]
    erasure: Annotated[CustomerErasure | None, doc("Null if no erasure was requested.")]
    limits: CustomerLimits
    used: CustomerUse


class Workspace(TypedDict):
    """A workspace with its settings, which apply in all of its environments."""

    id: Uuid
    name: str
    plan: str
    branding: Looks
    allowedOrigins: Annotated[
        list[str], doc(SettingsDraft.model_fields["allowed_origins"].description)
    ]
    customerMay: Abilities
    returnUrl: ReturnUrl
    updatedAt: Annotated[
        Timestamp | None, doc("The time of the last change. Null: all settings are defaults.")
    ]


class EmbedLimits(TypedDict):
    """The limits of the session's customer."""

    requestsPerMinute: Annotated[int, doc("For all sessions of this customer together.")]
    destinations: Annotated[int, doc("Destinations of this customer, without archived ones.")]
    rules: Annotated[int, doc("Routing rules of this customer's destinations.")]
    transforms: Annotated[int, doc("Transform scripts of this customer's destinations; 0: none.")]
    retentionDays: Annotated[int, doc("How long events and deliveries are shown.")]


class EmbedContext(TypedDict):
    """The data that a portal shows in a session."""

    workspaceId: Uuid
    workspaceName: str
    environment: Word[Environment]
    customerAccountId: Uuid
    customerExternalId: str
    expiresAt: Annotated[Timestamp, doc("The end of the session. Get a new session before it.")]
    branding: Looks
    locale: Annotated[str, doc("The locale of the branding; `en` if it has none.")]
    permissions: Annotated[Abilities, doc(PERMISSIONS)]
    returnUrl: ReturnUrl
    limits: EmbedLimits
