"""A run of a script: the job as a worker gets it, the script's expected cost, and the worker's answer.

An answer comes from a process in which a tenant's script ran, so nothing here trusts it: a malformed
answer raises ValueError.
"""

import json
from collections.abc import Callable
from hashlib import sha256
from struct import Struct as Layout
from typing import Any

from msgspec import Struct

from engine.core.vocabulary import ErrorCategory
from engine.ingest.event_json import check_type
from engine.model.errors import Refusal
from engine.model.headers import checked
from engine.outbound.ports import Failure, Headers, Transformed
from engine.transforms import worker

QUICK_S = 0.002  # a run with at most this CPU is quick; quick scripts go before others
NEW_S = 0.005  # the expected CPU of a script that has never run
PROOFS = 3  # quick runs until a script counts as quick
MOST_PROOFS = 1_000  # the limit of `owed`, which each run that is not quick raises
LONGEST_SEED = 256  # bytes of a seed that are used
_WEIGHT = 0.2  # of the latest run in the expected CPU


Answer = Callable[[Transformed | Failure], None]
_RUN = Layout("<dH")
LOG_BYTES = 4096
MESSAGE_CHARACTERS = 500
# The limit on the bytes of an answer: `worker.OUTPUT` for the result, and 256 KiB for headers and logs. A
# character of headers or logs can take six bytes in JSON.
ANSWER_BYTES = worker.OUTPUT + 256 * 1024
_CUT = "\N{HORIZONTAL ELLIPSIS}".encode()


class KnownScript(Struct, eq=False):
    """A script of a workspace, or of a workspace's customer, with the expected CPU of a run."""

    workspace: str
    source: str
    customer: str | None = None
    key: bytes = b""
    expected_s: float = NEW_S
    owed: int = PROOFS  # quick runs until the script counts as quick
    strikes: int = 0  # runs that were not quick

    def __post_init__(self) -> None:
        """Set `key`, by which a worker finds the script's context. The key depends on the source and the
        workspace, so that two workspaces with the same source never share a context."""
        text = f"{self.workspace}\0{self.source}".encode("utf-8", "surrogatepass")
        self.key = sha256(text).digest()[: worker.KEY]

    @property
    def quick(self) -> bool:
        """True if the script has proved quick."""
        return self.owed == 0

    def ran(self, cpu_s: float) -> None:
        """Note that a run took `cpu_s`. This changes the expected CPU, and can change `quick`."""
        self.expected_s += (cpu_s - self.expected_s) * _WEIGHT
        if cpu_s <= QUICK_S:
            self.owed -= self.owed > 0
            return
        self.strikes += 1
        self.owed = min(PROOFS * 4 ** min(self.strikes, 10), MOST_PROOFS)


class Cost(Struct, frozen=True):
    """The CPU of a job in seconds. `run_s` is the CPU of the script's run. `all_s` also includes other
    work for the job, such as compiling the script."""

    run_s: float
    all_s: float


class Job(Struct, eq=False):
    """A run of a script, or a check of a source. `answer` is called once, by `finish`."""

    known: KnownScript
    kind: bytes
    content: bytes  # the bytes after the job's number in its frame
    since: float
    answer: Answer
    expected_s: float = 0.0  # CPU, when the job was sent
    losses: int = 0  # workers that ended while they ran the job
    done: bool = False

    @property
    def size(self) -> int:
        return len(self.content)

    def finish(self, result: Transformed | Failure) -> None:
        """Call `answer`, unless it was called before."""
        if not self.done:
            self.done = True
            self.answer(result)


def run_of(
    known: KnownScript, body: bytes, now_ms: int, seed: str, since: float, answer: Answer
) -> Job:
    """Return the run of a script over a body."""
    # Only the first LONGEST_SEED bytes of the seed are used: a user who tries a script can choose a
    # longer seed. If these bytes end within a character, the incomplete character is dropped.
    planted = seed.encode("utf-8", "replace")[:LONGEST_SEED].decode("utf-8", "ignore").encode()
    head = _RUN.pack(now_ms, len(planted))
    return Job(known, worker.RUN, b"".join((head, known.key, planted, body)), since, answer)


def check_of(known: KnownScript, since: float, answer: Answer) -> Job:
    """Return the check of a source."""
    source = known.source.encode("utf-8", "surrogatepass")
    return Job(known, worker.CHECK, source, since, answer)


def failure(message: str, logs: bytes | None = None) -> Failure:
    """Return a failed run."""
    return Failure(ErrorCategory.TRANSFORM, message[:MESSAGE_CHARACTERS], logs)


def result_of(kind: bytes, content: bytes, cpu_ms: float) -> Transformed | Failure:
    """Return the result of a run. Raises ValueError for a malformed answer."""
    if kind == worker.REFUSED:
        return failure(content.decode())
    if kind == worker.SOUND:
        return Transformed(b"")  # a check runs on no body
    first, meta, *written = content.split(b"\n")
    logs = _logs(written[0]) if written else None
    if kind == worker.SKIP:
        return Transformed(b"", skipped=True, logs=logs, duration_ms=cpu_ms)
    if kind == worker.FAILED:
        return failure(_string(first).replace("\n", " "), logs)
    if kind != worker.BODY:
        raise ValueError("no such answer")
    if not meta:
        return Transformed(first, logs=logs, duration_ms=cpu_ms)
    try:
        event_type, headers = _beside(meta)
    except Refusal as refusal:
        return failure(refusal.message, logs)
    body = _text_of(first) if first.startswith(b'"') and _is_text(headers) else first
    return Transformed(body, False, event_type, headers, logs, cpu_ms)


def _is_text(headers: Headers) -> bool:
    for name, value in headers:
        if name.lower() == b"content-type":
            essence = value.partition(b";")[0].strip().lower()
            return essence != b"application/json" and not essence.endswith(b"+json")
    return False


def _text_of(body: bytes) -> bytes:
    """Lone surrogates become question marks."""
    text = json.loads(body)
    if not isinstance(text, str):
        raise ValueError("not a string")  # noqa: TRY004 (as above)
    return text.encode("utf-8", "replace")


def _beside(meta: bytes) -> tuple[str | None, Headers]:
    """Raises Refusal for values that must not be sent."""
    event_type, pairs = json.loads(meta)
    if event_type is not None:
        _require_type(_clean(event_type))
    given = checked([(_clean(name), _clean(value)) for name, value in pairs], "$headers")
    return event_type, tuple((name.encode(), value.encode()) for name, value in given)


def _require_type(event_type: str) -> None:
    try:
        check_type(event_type)
    except Refusal as refusal:
        message = f"$type: {refusal.details[0].message}"
        raise Refusal("invalid_request", message) from None


def _logs(text: bytes) -> bytes:
    written = _string(text).encode()
    if len(written) <= LOG_BYTES:
        return written
    return written[: LOG_BYTES - len(_CUT)].decode(errors="ignore").encode() + _CUT


def _string(text: bytes) -> str:
    return _clean(json.loads(text))


def _clean(value: Any) -> str:
    """Return a string without lone surrogates and NUL. JavaScript strings can hold them, but they cannot
    be stored."""
    if not isinstance(value, str):
        raise ValueError("not a string")  # noqa: TRY004 (as above)
    return value.encode("utf-8", "replace").decode().replace("\0", "?")
