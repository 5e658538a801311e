# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.embed_sessions`."""

from typing import NotRequired, TypedDict

from angarium.shapes.shared import Branding, CustomerMay
from angarium.shapes.words import Environment


class EmbedLimits(TypedDict):
    """What the workspace leaves to a customer."""

    # Of all sessions of this customer together.
    requestsPerMinute: int
    # Of this customer, archived ones left out.
    destinations: int
    # Routing rules of this customer's destinations.
    rules: int
    # Transform scripts of this customer's destinations; 0: none.
    transforms: int
    # How long events and deliveries are shown.
    retentionDays: int


class EmbedSession(TypedDict):
    """An embed session."""

    # anges_..., for the browser, as a bearer token.
    token: str
    expiresAt: str
    customerAccountId: str
    # The portal, with the token in the fragment.
    url: str


class SessionDraft(TypedDict):
    """A session as the customer's servers ask for it."""

    # The end-customer; the account is opened when it is new.
    customerExternalId: str
    # How long it lives; nothing ends it before.
    ttlSeconds: NotRequired[int]


class EmbedContext(TypedDict):
    """What a portal needs to draw itself for whoever's session it has."""

    workspaceId: str
    workspaceName: str
    environment: Environment
    customerAccountId: str
    customerExternalId: str
    # When the session ends. Ask for another one before.
    expiresAt: str
    branding: Branding
    # That of the branding; `en` where it has none.
    locale: str
    # What to offer: what the workspace lets its customers do, and its plan allows.
    permissions: CustomerMay
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
    limits: EmbedLimits
