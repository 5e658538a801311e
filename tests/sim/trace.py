"""The facts that an observer of a simulated history sees, in the order in which they happened.

An observer sees callers' requests with their answers, receivers' requests with their answers, committed
configuration, and faults. The oracle judges by these facts and by the rows at the end, never by the
engine's state. If a seed is run twice, the two histories have the same digest.
"""

import hashlib

import msgspec
from msgspec import Struct


class Fact(Struct, frozen=True, tag=True):
    """`at`: seconds since the epoch by the world's true clock, which never jumps."""

    at: float


# --- processes


class Booted(Fact, frozen=True):
    """A process began. It works for the part with the number `part`, of `parts` parts in all. It takes
    the leases of this part's slots (see `engine.nodes.parts`) from the processes that hold them.
    `clock_s`: how far the process's clock is ahead at its start, before any jump."""

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
    """A fault began, and lasts `lasts_s`. It concerns a statement, a connection, the database or a clock,
    for example. The end of a process is no `Fault`."""

    kind: str
    detail: str = ""
    lasts_s: float = 0.0


class Quiet(Fact, frozen=True):
    """The quiet phase begins. There are no more faults and no new events, and all receivers answer well.
    So all deliveries must end."""


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
    """The answer to a `Posted`. `accepted`: `ids` has an id for each item. `overloaded`: the events are
    surely not accepted. `internal`: the result is unknown. `refused`: `code` states the reason. `lost`:
    the process ended before it answered."""

    request: int
    answer: str
    ids: tuple[str, ...] = ()
    code: str = ""


class Asked(Fact, frozen=True):
    """A caller made a request that posts no events.

    - `requeue`, `discard`: requeue or discard dead letters.
    - `replay`: create a replay job. `cancel`: cancel a replay job.
    - `hasten`: send a waiting delivery at once. `withdraw`: cancel a waiting delivery.
    - `retry all`, `cancel all`: send or cancel all waiting deliveries of a destination.
    - `create`, `patch`, `rotate`: create a destination, change it, or rotate its signing key.
    - `rule`: create or change a routing rule. `unrule`: disable or delete a routing rule.

    `of`: the destination, rule or job that the request concerns, or "" if it does not exist yet.
    `deliveries`: the ids that the request named, or that a list had shown to the caller before. `wanted`:
    the request's fields as JSON.
    """

    request: int
    process: int
    kind: str
    environment: int
    of: str = ""
    deliveries: tuple[str, ...] = ()
    wanted: str = ""


class Told(Fact, frozen=True):
    """The answer to an `Asked`. `done`: `ids` name the objects that were changed or created. `refused`:
    `code` states the reason. `unknown`: after an error, the result is not known. `lost`: the caller got
    no answer."""

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
    """A routing rule was created, changed, disabled or deleted. The field `live` is False if the rule was
    disabled or deleted. The field `only` is the customer whose events the rule's filter lets pass, or
    None if the rule has no filter.
    """

    rule: str
    environment: int
    destination: str
    types: tuple[str, ...]
    live: bool = True
    only: str | None = None


# --- receivers


class Arrived(Fact, frozen=True):
    """A request reached a receiver. Each such request has its own number `send`."""

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
    """The answer to an `Arrived`. `status`: None after a time-out or a broken connection. `judged`: True
    if the process got the answer. `retry_after_s`: the pause that the receiver asked for."""

    send: int
    status: int | None
    judged: bool
    retry_after_s: float | None = None


# --- token endpoints


class TokenRefused(Fact, frozen=True):
    """A receiver answered a request with 401 because of its token. The receiver did not read the rest of
    the request, so there is no `Arrived`. `heard`: True if the process got the answer."""

    process: int
    destination: str
    delivery: str
    number: int  # of the attempt
    token: str
    heard: bool


class TokenAsked(Fact, frozen=True):
    """A process asked an endpoint for a token. Each `TokenAsked` has its own number `fetch`."""

    fetch: int
    process: int
    endpoint: int


class TokenTold(Fact, frozen=True):
    """The answer to a `TokenAsked`. `token`: the Authorization header with the token that the process
    got. It is empty if the fetch failed, or if the process had stopped waiting. `life_s`: the lifetime of
    the token."""

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
