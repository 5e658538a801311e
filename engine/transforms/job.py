"""A run that somebody waits for, and what is known of its script. Nothing here acts."""

from collections.abc import Callable
from hashlib import sha256
from struct import Struct as Layout

from msgspec import Struct

from engine.outbound.ports import Failure, Transformed
from engine.transforms import worker

QUICK_S = 0.002  # of CPU: scripts that stay below go before those that do not
NEW_S = 0.005  # what a script is taken to need before it has run
PROOFS = 3  # quick runs until a script is one that goes first
MOST_PROOFS = 1_000  # after ever more runs that were not
LONGEST_SEED = 256  # bytes of it that count
_WEIGHT = 0.2  # of the latest run in what a script is expected to need


Answer = Callable[[Transformed | Failure], None]


class Known(Struct, eq=False):
    """A source of one workspace, or of a customer's account in it, and what its runs have cost."""

    workspace: str
    source: str
    customer: str | None = None
    key: bytes = b""
    expected_s: float = NEW_S
    owed: int = PROOFS  # quick runs until it goes with the quick ones
    strikes: int = 0

    def __post_init__(self) -> None:
        """Name it by what it is, so that a worker never takes one for another."""
        text = f"{self.workspace}\0{self.source}".encode("utf-8", "surrogatepass")
        self.key = sha256(text).digest()[: worker.KEY]

    @property
    def quick(self) -> bool:
        """Whether it has shown that others need not fear to wait behind it."""
        return self.owed == 0

    def ran(self, cpu_s: float) -> None:
        """Learn from a run."""
        self.expected_s += (cpu_s - self.expected_s) * _WEIGHT
        if cpu_s <= QUICK_S:
            self.owed -= self.owed > 0
            return
        self.strikes += 1
        self.owed = min(PROOFS * 4 ** min(self.strikes, 10), MOST_PROOFS)


class Cost(Struct, frozen=True):
    """Seconds of CPU: of a run, and with what came before it, such as its script's compilation."""

    run_s: float
    all_s: float


class Job(Struct, eq=False):
    """A run of a script, or a check of a source. `answer` is called once, by `finish`."""

    known: Known
    kind: bytes
    content: bytes  # what follows the number that the worker's link gives it
    since: float  # trio's clock
    answer: Answer
    expected_s: float = 0.0  # CPU, when it was sent
    losses: int = 0  # workers that died of it, as far as can be said, for no reason that is known
    done: bool = False

    @property
    def size(self) -> int:
        """Bytes that it holds while it waits."""
        return len(self.content)

    def finish(self, result: Transformed | Failure) -> None:
        """Answer who waits, if nobody did before."""
        if not self.done:
            self.done = True
            self.answer(result)


_RUN = Layout("<dH")


def run_of(known: Known, body: bytes, now_ms: int, seed: str, since: float, answer: Answer) -> Job:
    """Return the run of a script over a body."""
    # A trial's is whatever its caller has written: what is cut may end within a character.
    planted = seed.encode("utf-8", "replace")[:LONGEST_SEED].decode("utf-8", "ignore").encode()
    head = _RUN.pack(now_ms, len(planted))
    return Job(known, worker.RUN, b"".join((head, known.key, planted, body)), since, answer)


def check_of(known: Known, since: float, answer: Answer) -> Job:
    """Return the check of a source."""
    source = known.source.encode("utf-8", "surrogatepass")
    return Job(known, worker.CHECK, source, since, answer)
