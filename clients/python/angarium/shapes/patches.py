# Made of the API's routes by `python -m api.generation`; do not edit.
"""Shapes of changes: absent fields stay unchanged."""

from typing import Literal, TypedDict

from angarium.shapes.page import JsonObject
from angarium.shapes.words import HttpMethod, Ordering, Priority, SigningAlgorithm


class BrandColorsPatch(TypedDict, total=False):
    """Colours as #rrggbb. Null: the portal uses its own colour."""

    primary: str | None
    accent: str | None
    background: str | None
    text: str | None


class CustomerMayPatch(TypedDict, total=False):
    """The abilities of embed sessions within their customer's account. The default of each is
    true.
    """

    # Create destinations.
    createDestinations: bool | None
    # Change a destination's name, description, URL and config.
    editDestinations: bool | None
    # Enable, disable and resume destinations.
    switchDestinations: bool | None
    # Archive destinations.
    archiveDestinations: bool | None
    # Send a sample to a destination.
    testDestinations: bool | None
    # Set a destination's headers and authentication.
    editHeaders: bool | None
    # Set a destination's `delivery`, `method` and `disableAfterSeconds`.
    editDeliveryOptions: bool | None
    # Rotate signing secrets, and change the algorithm.
    rotateSecrets: bool | None
    # Create, change, enable, disable and delete routing rules.
    manageRules: bool | None
    # Create, run, publish, unpublish and delete transform scripts.
    manageTransforms: bool | None
    # Retry dead letters and waiting deliveries.
    retryDeliveries: bool | None
    # Discard dead letters, and cancel waiting deliveries.
    discardDeliveries: bool | None
    # Start, change and cancel replay jobs.
    replay: bool | None
    # See the contents of events, requests, responses and files, script output, and error texts.
    # Without this ability they are null.
    viewPayloads: bool | None


class DeliveryOptionsPatch(TypedDict, total=False):
    """The sending options of a destination."""

    # Requests in flight at once. `auto`: the server adapts the number to the durations and failures
    # of attempts.
    concurrency: int | Literal["auto"] | None
    # Scope of first-in first-out order: none, a key of the event, or the destination.
    ordering: Ordering | None
    # The most time for an attempt, from the name look-up to the last byte.
    timeoutMs: int | None
    # Attempts per second, with a burst of one second. Null: no limit.
    rateLimitPerSecond: float | None
    # Route and record events, but send nothing.
    dryRun: bool | None
    # Seconds to wait after each failed attempt, varied by up to 20 %. Empty: no retries.
    retrySchedule: list[int] | None


class ReplayPatch(TypedDict, total=False):
    """The part of a job that a caller can change until the job ends."""

    # The most deliveries that are enqueued a second. Null: as many as the receivers take.
    ratePerSecond: float | None


class RulePatch(TypedDict, total=False):
    """A routing rule as a caller writes it."""

    name: str
    destinationId: str
    # Patterns, such as `order.*`. A * matches one segment; at the end, one or more. A single *
    # matches all types except angarium.*.
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
    """The look of a portal. Null: the portal uses its own default."""

    name: str | None
    # The address of the logo; https only.
    logoUrl: str | None
    colors: BrandColorsPatch | None
    # BCP 47, such as `en`, `de-CH`, `zh-Hant-TW`.
    locale: str | None
    # A page where customers find help; https only.
    supportUrl: str | None


class DestinationPatch(TypedDict, total=False):
    """A destination as a caller writes it."""

    name: str
    # http or https, without user name and password.
    url: str
    description: str | None
    # The end-customer whose events the destination receives.
    customerExternalId: str | None
    # The id of the same customer's account.
    customerAccountId: str | None
    # Sent with every request. Names are case-insensitive. Answers show *** for authorization,
    # cookie, and names that contain key, token, secret or the like.
    headers: dict[str, str | None] | None
    delivery: DeliveryOptionsPatch | None
    signing: SigningOptionsPatch | None
    method: HttpMethod | None
    # Authentication of requests to receivers. Answers show secrets as ***.
    authentication: JsonObject | None
    # Disable the destination after it has failed for this many seconds. Null: never.
    disableAfterSeconds: int | None
    rotateSecret: bool | None
    graceSeconds: int | None
    templateId: str | None
    config: JsonObject | None


class SettingsPatch(TypedDict, total=False):
    """A workspace's settings."""

    branding: BrandingPatch | None
    # Origins whose pages can call the API: https, or http for localhost and 127.0.0.1.
    allowedOrigins: list[str] | None
    customerMay: CustomerMayPatch | None
    # The page that the portal links to as the way back; https only.
    returnUrl: str | None
