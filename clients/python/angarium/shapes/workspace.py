# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of `client.workspace`."""

from typing import TypedDict

from angarium.shapes.shared import Branding, CustomerMay


class BrandColorsPatch(TypedDict, total=False):
    """Colours as #rrggbb; for null the portal uses its own."""

    primary: str | None
    accent: str | None
    background: str | None
    text: str | None


class CustomerMayPatch(TypedDict, total=False):
    """The abilities of embed sessions within their customer's account. Each is true unless set
    to false.
    """

    # Create destinations.
    createDestinations: bool | None
    # Change a destination's name, description, URL and config.
    editDestinations: bool | None
    # Enable and disable destinations.
    switchDestinations: bool | None
    # Archive destinations.
    archiveDestinations: bool | None
    # Send a sample to a destination.
    testDestinations: bool | None
    # Set a destination's headers, when it is made and later.
    editHeaders: bool | None
    # Set a destination's `delivery`, when it is made and later.
    editDeliveryOptions: bool | None
    # Rotate signing secrets, and change the algorithm.
    rotateSecrets: bool | None
    # Create, change, switch and delete routing rules.
    manageRules: bool | None
    # Create, run, publish and withdraw transform scripts.
    manageTransforms: bool | None
    # Retry what is in the DLQ.
    retryDeliveries: bool | None
    # Discard what is in the DLQ.
    discardDeliveries: bool | None
    # Start and cancel replay jobs.
    replay: bool | None
    # See what events, requests and responses hold, and the words of errors; else null is shown.
    viewPayloads: bool | None


class Workspace(TypedDict):
    """A workspace with its settings, which hold in all of its environments."""

    id: str
    name: str
    plan: str
    branding: Branding
    # Origins that browsers may call from: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str]
    customerMay: CustomerMay
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
    # Of the settings; null: as they are by default.
    updatedAt: str | None


class BrandingPatch(TypedDict, total=False):
    """The looks of a portal. The portal decides on whatever is null."""

    name: str | None
    # https only.
    logoUrl: str | None
    colors: BrandColorsPatch | None
    # BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.
    locale: str | None
    # Where customers find help; https only.
    supportUrl: str | None


class SettingsPatch(TypedDict, total=False):
    """A workspace's settings."""

    branding: BrandingPatch | None
    # Origins that browsers may call from: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str] | None
    customerMay: CustomerMayPatch | None
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
