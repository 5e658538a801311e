# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.embed_sessions`."""

from typing import NotRequired, TypedDict

from angarium.shapes.shared import Branding, CustomerMay
from angarium.shapes.words import Environment


class EmbedLimits(TypedDict):
    """The limits of the session's customer."""

    # For all sessions of this customer together.
    requestsPerMinute: int
    # Destinations of this customer, without archived ones.
    destinations: int
    # Routing rules of this customer's destinations.
    rules: int
    # Transform scripts of this customer's destinations; 0: none.
    transforms: int
    # How long events and deliveries are shown.
    retentionDays: int


class EmbedSession(TypedDict):
    """An embed session."""

    # anges_...: the browser's bearer token.
    token: str
    expiresAt: str
    customerAccountId: str
    # The address of the portal, with the token in the fragment.
    url: str


class SessionDraft(TypedDict):
    """The customer and the lifetime of a new session."""

    # The end-customer. An account is created for a new customer.
    customerExternalId: str
    # How long the session is valid. A session cannot be ended earlier.
    ttlSeconds: NotRequired[int]


class EmbedContext(TypedDict):
    """The data that a portal shows in a session."""

    workspaceId: str
    workspaceName: str
    environment: Environment
    customerAccountId: str
    customerExternalId: str
    # The end of the session. Get a new session before it.
    expiresAt: str
    branding: Branding
    # The locale of the branding; `en` if it has none.
    locale: str
    # The abilities that the workspace allows and its plan includes.
    permissions: CustomerMay
    # The page that the portal links to as the way back; https only.
    returnUrl: str | None
    limits: EmbedLimits
