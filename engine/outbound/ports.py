"""The protocols of the stages between an event and the wire. A stage that gets a `done` calls it once, on
the trio thread, now or later. No stage blocks. No tenant's input makes a stage raise an exception."""

from collections.abc import Callable
from typing import Protocol

from msgspec import Struct

from engine.core.destination import Destination, Template
from engine.core.records import Event, Outcome
from engine.core.vocabulary import ErrorCategory

Headers = tuple[tuple[bytes, bytes], ...]


def layered(first: Headers, then: Headers) -> Headers:
    """Return the headers of two stages. If both stages set the same header, the value in `first` is used.
    For example, `first` has the headers of a template, which a script must not change."""
    named = {name.lower() for name, _ in first}
    return (*first, *(header for header in then if header[0].lower() not in named))


class Failure(Struct, frozen=True):
    """The reason why an attempt cannot be sent. The attempt fails with this `category`."""

    category: ErrorCategory
    message: str
    logs: bytes | None = None  # of a script
    retry_after_s: float | None = None  # that a source asked for


# --- files


class Carried(Struct, frozen=True):
    """An event whose files are all stored. `body` is its outbound body; `headers` name the files'
    URLs."""

    body: bytes
    headers: Headers


class FileStage(Protocol):
    """The stage that prepares files: the files of FILE events, and the attachments of other events."""

    def carry(self, event: Event, done: Callable[[Carried | Failure], None]) -> None:
        """Fetch and store the missing files of an event, and sign the URLs of all its files."""


# --- transforms


class Script(Struct, frozen=True):
    """A script to run. Workspaces take turns to run scripts, and within a workspace the customers take
    turns. A run counts for `workspace` and for `customer`, the account to which the script's destination
    belongs."""

    workspace: str
    id: str
    source: str
    customer: str | None = None


class Transformed(Struct, frozen=True):
    """The result of a script. If the script returned null, `skipped` is True and nothing is sent. A
    script can also set an event type (`type`) and `headers`."""

    body: bytes
    skipped: bool = False
    type: str | None = None
    headers: Headers = ()
    logs: bytes | None = None  # at most 4 KiB
    duration_ms: float = 0.0


class TransformStage(Protocol):
    """The stage that runs transform scripts. Runs are isolated: no run sees what an earlier run has
    changed."""

    def run(
        self,
        script: Script,
        body: bytes,
        now_ms: int,
        seed: str,
        done: Callable[[Transformed | Failure], None],
    ) -> None:
        """Run a script over an outbound body.

        The script sees `now_ms` as the present time. `seed` is the seed of its random numbers. Every
        attempt of a delivery uses the same two values, so that every attempt has the same result.
        """


class ScriptRuns(Protocol):
    """The runs of scripts for callers that wait for the result."""

    async def perform(
        self, script: Script, body: bytes, now_ms: int, seed: str
    ) -> Transformed | Failure:
        """See `TransformStage.run`."""

    async def check(self, workspace: str, source: str, customer: str | None = None) -> str | None:
        """Compile a script's source. Return its error with line and column, or None. `customer` is the
        account whose session asks."""


# --- authentication


class AuthenticationStage(Protocol):
    """The stage that authenticates requests to receivers."""

    def prepare(self, destination: Destination, done: Callable[[Headers | Failure], None]) -> None:
        """Prepare the token or the certificate of a destination. Call `done` with the headers that the
        request needs."""

    def refused(self, destination: Destination, headers: Headers) -> bool:
        """Record that the receiver answered 401 to these headers. Return True if new headers can be
        prepared."""


# --- templates


class Rendered(Struct, frozen=True):
    """The request that a template made from an outbound body."""

    body: bytes
    headers: Headers = ()


class TemplateStage(Protocol):
    """The catalog of templates, as attempts need it."""

    def render(
        self, template: Template, body: bytes, event_type: str, event_id: str | None = None
    ) -> Rendered | Failure:
        """Return the request that a template makes from an outbound body. The body is JSON. A script can
        have changed the body, and with it the event id in the body. `event_id` is the true id: templates
        use it for receivers that detect repeated requests."""

    def judge(self, template: Template, outcome: Outcome) -> Outcome:
        """Return the outcome of an attempt, corrected by the template's rules. `outcome` is the outcome
        before the correction. The rules say what an answer of this kind of receiver means. For example,
        some receivers report an error with status 200."""
