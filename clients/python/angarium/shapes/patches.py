# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of changes: absent fields stay unchanged."""

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
    """The sending options of a destination."""

    # Requests in flight at once. `auto`: the server adapts the number to the durations and failures
    # of attempts.
    concurrency: int | Literal["auto"] | None
    # Scope of first-in first-out order: none, a key of the event, or the destination.
    ordering: Ordering | None
    # Time from DNS to the last byte.
    timeoutMs: int | None
    # Attempts per second, with a burst of one second. Null: no limit.
    rateLimitPerSecond: float | None
    # Route and record, but send nothing.
    dryRun: bool | None
    # Seconds to wait after each failed attempt, varied by up to 20 %.
    retrySchedule: list[int] | None


class ReplayPatch(TypedDict, total=False):
    """The part of a job that can change until the job has ended."""

    # At most so many a second are enqueued. Null: as quickly as the receivers take them.
    ratePerSecond: float | None


class RulePatch(TypedDict, total=False):
    """A routing rule as a caller writes it."""

    name: str
    destinationId: str
    # Patterns. A * matches one segment; at the end, one or more. A single * matches all types but
    # angarium.*.
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
    # The end-customer whose events the destination receives.
    customerExternalId: str | None
    # That customer, by the account's id.
    customerAccountId: str | None
    # Sent with every request. Names are case-insensitive. Answers show *** for authorization,
    # cookie, and names that contain key, token, secret or the like.
    headers: dict[str, str | None] | None
    delivery: DeliveryOptionsPatch | None
    signing: SigningOptionsPatch | None
    method: HttpMethod | None
    # Authentication of requests to receivers. Answers show secrets as ***.
    authentication: JsonObject | None
    # Seconds of failures after which the server disables the destination. Null: never.
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
