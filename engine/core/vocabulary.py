"""The enumerations of the service, with the small numbers that PostgreSQL stores for them.

A number is never reused or renumbered: rows outlive releases. The names are the API's words.
"""

from enum import IntEnum


class Environment(IntEnum):
    """One of the three environments that every workspace has."""

    DEVELOPMENT = 1
    STAGING = 2
    PRODUCTION = 3


class Origin(IntEnum):
    """The way in which an event entered."""

    API = 1
    FILE = 2
    OWN = 3
    TEST = 4


class DeliveryStatus(IntEnum):
    """The status of a delivery. DELIVERING is never stored: it is shown for deliveries in flight."""

    PENDING = 0
    DELIVERING = 1
    DELIVERED = 2
    FAILED = 3
    RETRYING = 4
    DRY_RUN = 5


class DeliveryTrouble(IntEnum):
    """The trouble that a delivery is in. A delivery that was requeued from the DLQ is REQUEUED even after
    it is DELIVERED. A delivery without trouble has null.

    Partial indexes on this column hold only the rows with trouble.
    """

    RETRYING = 1  # waits for its next attempt, even if it was requeued
    FAILED = 2  # FAILED and not in the DLQ: archived, discarded, or a failed inspection
    DEAD = 3  # FAILED and IN_DLQ
    REQUEUED = 4  # RETRIED_FROM_DLQ, and neither RETRYING nor FAILED


class DlqStatus(IntEnum):
    """The fate of a delivery that was dead or discarded at some time. A delivery that was never dead or
    discarded has null."""

    IN_DLQ = 1
    RETRIED_FROM_DLQ = 2
    DISCARDED = 3


class Priority(IntEnum):
    """The urgency of a delivery, set by a routing rule."""

    STANDARD = 1
    HIGH = 2
    CRITICAL = 3


class DeliveryClass(IntEnum):
    """The queue that a delivery waits in. The queue with the smallest number is the most urgent."""

    CRITICAL = 0
    HIGH = 1
    STANDARD = 2
    REPLAY = 3


class DeliveryKind(IntEnum):
    """The kind of content that a delivery carries."""

    EVENT = 1
    FILE = 2


class DeliveryOrigin(IntEnum):
    """The reason for which a delivery exists."""

    NORMAL = 1
    REPLAY = 2
    INSPECTION = 3


class DestinationStatus(IntEnum):
    """The status of a destination. Deliveries are sent only while it is ACTIVE."""

    ACTIVE = 1
    DISABLED = 2
    ARCHIVED = 3


class HttpMethod(IntEnum):
    """The HTTP method of a destination's requests."""

    POST = 1
    PUT = 2
    PATCH = 3


class Ordering(IntEnum):
    """The deliveries of a destination that stay in order: none, those with the same key, or all."""

    NONE = 0
    KEY = 1
    STRICT = 2


class SigningAlgorithm(IntEnum):
    """The algorithm that signs outbound bodies."""

    HMAC_SHA256 = 1
    ED25519 = 2


class ErrorCategory(IntEnum):
    """The reason why an attempt failed, in the words that customers filter by."""

    TIMEOUT = 1
    DNS = 2
    CONNECTION = 3
    TLS = 4
    BLOCKED_ADDRESS = 5
    PROTOCOL = 6
    REDIRECT = 7
    HTTP_4XX = 8
    HTTP_5XX = 9
    RATE_LIMITED = 10
    TRANSFORM = 11
    DESTINATION_GONE = 12
    INTERNAL = 13
    AUTHENTICATION = 14  # the request needs a token, and none could be obtained


class Scope(IntEnum):
    """The permissions that a key can have."""

    INGEST = 1
    READ = 2
    MANAGE = 3


class CredentialKind(IntEnum):
    """The kind of credential that a caller showed."""

    API_KEY = 1
    MCP_KEY = 2
    EMBED_SESSION = 3


class ReplayStatus(IntEnum):
    """The status of a replay job. Every status of an unfinished job has a lower number than COMPLETED.
    An index relies on this order."""

    PENDING = 0  # being counted
    RUNNING = 1
    PAUSED = 2  # all its destinations are disabled
    COMPLETED = 3
    FAILED = 4
    CANCELLED = 5


class JobKind(IntEnum):
    """The action of a replay job on the deliveries that it selects."""

    REPLAY = 0  # makes new deliveries
    CANCEL = 1
    RETRY = 2


class ReplayMode(IntEnum):
    """The choice of what a job of the kind REPLAY sends."""

    AGAIN = 0  # settled deliveries, once more
    MISSING = 1  # events for which the destination has no delivery


CLASS_OF_PRIORITY = {
    Priority.STANDARD: DeliveryClass.STANDARD,
    Priority.HIGH: DeliveryClass.HIGH,
    Priority.CRITICAL: DeliveryClass.CRITICAL,
}
