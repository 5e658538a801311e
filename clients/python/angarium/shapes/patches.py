# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of changes: what is left out stays."""

from typing import Literal, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import HttpMethod, Ordering, Priority, SigningAlgorithm


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


class DeliveryOptionsPatch(TypedDict, total=False):
    """The way that a destination's requests are sent."""

    # Requests in flight at once; `auto`: as many as its answers bear, found by what they take and
    # whether they fail.
    concurrency: int | Literal["auto"] | None
    # What first-in first-out holds for: nothing, one key, the destination.
    ordering: Ordering | None
    # From DNS to the last byte.
    timeoutMs: int | None
    # Attempts a second, with a burst of one second's worth; null: no limit.
    rateLimitPerSecond: float | None
    # Route and record, but send nothing.
    dryRun: bool | None
    # Seconds after each failed attempt, each give or take 20 %.
    retrySchedule: list[int] | None


class RulePatch(TypedDict, total=False):
    """A routing rule as a caller writes it."""

    name: str
    destinationId: str
    # Patterns: * is one segment, at the end one or more; * alone is everything but angarium.*.
    eventTypes: list[str]
    # A CEL expression over `event` (eventType, payload, metadata, source, customerExternalId,
    # occurredAt), at most 2 KiB. Null: every event of these types.
    filter: str | None
    priority: Priority | None
    enabled: bool | None


class SigningOptionsPatch(TypedDict, total=False):
    """The signatures of outbound bodies."""

    algorithm: SigningAlgorithm | None


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


class DestinationPatch(TypedDict, total=False):
    """A destination as a caller writes it."""

    name: str
    # http or https, without userinfo.
    url: str
    description: str | None
    # Ties the destination to this end-customer's events.
    customerExternalId: str | None
    # The same, by the account's id.
    customerAccountId: str | None
    # Sent with every request. Names merge whatever their case; values of authorization, cookie and
    # whatever is named like a key, token or secret are shown as ***.
    headers: dict[str, str | None] | None
    delivery: DeliveryOptionsPatch | None
    signing: SigningOptionsPatch | None
    method: HttpMethod | None
    # How requests prove who sends them. Its secrets are shown as ***.
    authentication: JsonObject | None
    # Seconds of failing after which the destination is disabled; null: never.
    disableAfterSeconds: int | None
    rotateSecret: bool | None
    graceSeconds: int | None
    templateId: str | None
    config: JsonObject | None


class SettingsPatch(TypedDict, total=False):
    """A workspace's settings."""

    branding: BrandingPatch | None
    # Origins that browsers may call from: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str] | None
    customerMay: CustomerMayPatch | None
    # Where the portal leads back to after a session; https only.
    returnUrl: str | None
