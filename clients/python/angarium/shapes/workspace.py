"""The workspace: what it says of its customers' portals, and what a portal draws itself from."""

from typing import TypedDict

from angarium.shapes.vocabulary import Environment


class BrandColors(TypedDict, total=False):
    """Colours as #rrggbb; null leaves the portal its own."""

    primary: str | None
    accent: str | None
    background: str | None
    text: str | None


class Branding(TypedDict, total=False):
    """What a portal looks like. What is null the portal decides."""

    name: str | None
    logoUrl: str | None
    colors: BrandColors | None
    locale: str | None
    supportUrl: str | None


class CustomerMay(TypedDict, total=False):
    """What embed sessions may do with what is their customer's."""

    createDestinations: bool
    editDestinations: bool
    switchDestinations: bool
    archiveDestinations: bool
    testDestinations: bool
    editHeaders: bool
    editDeliveryOptions: bool
    rotateSecrets: bool
    manageRules: bool
    manageTransforms: bool
    retryDeliveries: bool
    discardDeliveries: bool
    replay: bool
    viewPayloads: bool


class WorkspaceChange(TypedDict, total=False):
    """A PATCH of the workspace: what is absent stays, null is the default, a list is replaced whole."""

    branding: Branding | None
    allowedOrigins: list[str] | None
    customerMay: CustomerMay | None


class Workspace(TypedDict):
    """A workspace with its settings. `updatedAt` is null while they are as by default."""

    id: str
    name: str
    plan: str
    branding: Branding
    allowedOrigins: list[str]
    customerMay: CustomerMay
    updatedAt: str | None


class EmbedLimits(TypedDict):
    """What the workspace leaves to a customer."""

    requestsPerMinute: int
    destinations: int
    rules: int
    transforms: int
    retentionDays: int


class EmbedContext(TypedDict):
    """Whose session it is, and what its portal looks like and may offer."""

    workspaceName: str
    environment: Environment
    customerAccountId: str
    customerExternalId: str
    expiresAt: str
    branding: Branding
    locale: str
    permissions: CustomerMay
    limits: EmbedLimits
