"""The facts that an observer of a simulated history sees, in the order in which they happened.

Only outside knowledge is here: callers' requests and answers, receivers' requests and answers, committed
configuration, and faults. The oracle judges by these facts and by the rows at the end, never by the
engine's state. Two runs of a seed have equal digests.
"""

import hashlib

import msgspec
from msgspec import Struct


class Fact(Struct, frozen=True, tag=True):
    """`at`: seconds since the epoch by the world's true clock, which never jumps."""

    at: float


# --- processes


class Booted(Fact, frozen=True):
    """A process began, for part `part` of `parts`. It takes over the slots of this part from other
    processes that run. `clock_s`: how far the process's clock is ahead at its start. Later jumps are not
    included."""

    process: int
    clock_s: float = 0.0
    part: int = 0
    parts: int = 1


class Ready(Fact, frozen=True):
    """A process has recovered: from now on it takes events."""

    process: int


class Killed(Fact, frozen=True):
    process: int


class Ended(Fact, frozen=True):
    """A process ended by itself. `why`: it ended in order (`stopped`), it had lost its right to write
    (`lost`), or it could not continue (`gave up`)."""

    process: int
    why: str


class Fault(Fact, frozen=True):
    """Something else went wrong, for `lasts_s`: a statement, a connection, the database, a clock."""

    kind: str
    detail: str = ""
    lasts_s: float = 0.0


class Quiet(Fact, frozen=True):
    """From here on there are no faults, no new events, and receivers are well: all must drain."""


# --- callers


class Item(Struct, frozen=True):
    """One event as it was posted. Its payload contains `mark`, which no other event has."""

    mark: str
    type: str
    customer: str | None = None
    correlation_id: str | None = None
    source: str | None = None
    key: str | None = None  # idempotency key
    priority: str = "STANDARD"


class Posted(Fact, frozen=True):
    """A caller sent a request of one event, or of a batch."""

    request: int
    process: int
    environment: int
    items: tuple[Item, ...]


class Relayed(Fact, frozen=True):
    """A process began to handle a request that another process had relayed to it."""

    request: int
    process: int


class Answered(Fact, frozen=True):
    """The answer to a `Posted`: `accepted` with an id for each item, `overloaded` (surely not accepted),
    `internal` (the result is unknown), `refused` (with the code), or `lost` (the process has ended)."""

    request: int
    answer: str
    ids: tuple[str, ...] = ()
    code: str = ""


class Asked(Fact, frozen=True):
    """A caller made a request that posts no events.

    - `requeue`, `discard`: dead letters.
    - `replay`: create a replay job. `cancel`: cancel a replay job.
    - `hasten`: send a waiting delivery at once. `withdraw`: cancel a waiting delivery.
    - `retry all`, `cancel all`: the same for all waiting deliveries of a destination.
    - `create`, `patch`, `rotate`: a destination.
    - `rule`: create or change a routing rule. `unrule`: disable or delete it.

    `of` is the destination, rule or job, if it exists already. `deliveries` are the ids that the request
    named, or that a list showed to the caller before. `wanted` has the request's fields as JSON.
    """

    request: int
    process: int
    kind: str
    environment: int
    of: str = ""
    deliveries: tuple[str, ...] = ()
    wanted: str = ""


class Told(Fact, frozen=True):
    """The answer to an `Asked`: `done`, `refused` (with the code), `unknown` (an error left the result
    open) or `lost` (the caller got no answer). `ids` name the objects that were changed or created."""

    request: int
    answer: str
    ids: tuple[str, ...] = ()
    code: str = ""


# --- configuration, as it was committed


class Configured(Fact, frozen=True):
    destination: str
    environment: int
    version: int
    status: str  # ACTIVE, DISABLED, ARCHIVED
    ordering: str  # NONE, KEY, STRICT
    schedule_s: tuple[int, ...]
    concurrency: int
    customer: str | None = None
    rate_per_second: float | None = None
    url: str = ""
    disable_after_s: int | None = None
    endpoint: int | None = None  # the number of its token endpoint, if it has one


class Ruled(Fact, frozen=True):
    """`live` is False if the rule was deleted or disabled. `only` is the only customer whose events
    pass the rule's filter, or None if the rule has no filter.
    """

    rule: str
    environment: int
    destination: str
    types: tuple[str, ...]
    live: bool = True
    only: str | None = None


# --- receivers


class Arrived(Fact, frozen=True):
    """A request reached a receiver. `send` is unique to it."""

    send: int
    process: int
    destination: str
    delivery: str  # webhook-id or its equivalent
    event: str
    mark: str  # of the payload, "" where it could not be read
    body: str  # digest of the bytes
    number: int  # of the attempt
    signed: bool  # by a secret that was valid then
    token: str = ""  # the header Authorization
    waited_s: float = 0.0  # for its token, before it was sent


class Replied(Fact, frozen=True):
    """The end of an `Arrived`: a status, or None for a time-out or a broken connection. `judged`: the
    process got the answer. `retry_after_s`: the pause that the receiver asked for."""

    send: int
    status: int | None
    judged: bool
    retry_after_s: float | None = None


# --- token endpoints


class TokenRefused(Fact, frozen=True):
    """A receiver answered a request with 401 because of its token. The receiver did not read the rest of
    the request, so there is no `Arrived`. `heard`: the process got the answer."""

    process: int
    destination: str
    delivery: str
    number: int  # of the attempt
    token: str
    heard: bool


class TokenAsked(Fact, frozen=True):
    """A process asked an endpoint for a token. `fetch` is unique to it."""

    fetch: int
    process: int
    endpoint: int


class TokenTold(Fact, frozen=True):
    """The end of a `TokenAsked`: the header that the process got, and the lifetime of the token. The
    header is empty if the fetch failed or the process no longer waited."""

    fetch: int
    token: str
    life_s: float


AnyFact = (
    Booted
    | Ready
    | Killed
    | Ended
    | Fault
    | Quiet
    | Posted
    | Relayed
    | Answered
    | Asked
    | Told
    | Configured
    | Ruled
    | Arrived
    | Replied
    | TokenRefused
    | TokenAsked
    | TokenTold
)


# --- the rows at the end


class EventRow(Struct, frozen=True):
    id: str
    environment: int
    type: str
    mark: str
    key: str | None


class DeliveryRow(Struct, frozen=True):
    id: str
    environment: int
    event: str
    destination: str
    status: str
    origin: str
    lane: str | None
    seq: int
    attempts: int
    schedule_start: int
    dlq_status: str | None
    next_attempt_at: float | None
    replay_of: str | None
    replay_job: str | None
    delivered_at: float | None = None  # by the clock of the process that settled it, as all below
    dead_lettered_at: float | None = None
    error: str | None = None  # the name of its category


class AttemptRow(Struct, frozen=True):
    delivery: str
    number: int
    started_at: float  # by the clock of the process that made it
    duration_ms: int
    success: bool
    status: int | None


class MinuteRow(Struct, frozen=True):
    destination: str
    minute: int
    attempts: int
    failed: int
    retried: int
    delivered: int
    dead_lettered: int


class JobRow(Struct, frozen=True):
    id: str
    environment: int
    status: str
    matched: int
    enqueued: int
    skipped: int
    delivered: int
    failed: int
    kind: str = "REPLAY"
    missing: bool = False  # the job is for events without a delivery
    finished_at: float | None = None  # by the clock of the process that ended it


class Rows(Struct, frozen=True):
    events: tuple[EventRow, ...]
    deliveries: tuple[DeliveryRow, ...]
    attempts: tuple[AttemptRow, ...]
    minutes: tuple[MinuteRow, ...]
    jobs: tuple[JobRow, ...]
    backlog: tuple[str, ...]  # destinations that have a backlog row


class History(Struct, frozen=True):
    """A whole run. `broken` lists the errors that the simulation itself found: an actor's crash that was
    not planned, a task that never ended, or deliveries that never ended."""

    seed: int
    facts: tuple[AnyFact, ...]
    rows: Rows
    broken: tuple[str, ...] = ()
    virtual_s: float = 0.0
    leaves_after_s: float = 30.0  # how long an idle actor stays in memory

    @property
    def digest(self) -> str:
        return hashlib.sha256(msgspec.msgpack.encode(self)).hexdigest()
