"""A history, arranged for the oracle's checks. It shows each request with its answer, the processes that
owned the database, and the versions of the configuration that were in force."""

from collections import defaultdict
from math import gcd, inf, nextafter

from msgspec import Struct, field
from msgspec.structs import replace

from tests.sim.trace import (
    Answered,
    AnyFact,
    Arrived,
    Asked,
    AttemptRow,
    Booted,
    Configured,
    DeliveryRow,
    Ended,
    EventRow,
    Fault,
    History,
    Killed,
    Posted,
    Quiet,
    Ready,
    Relayed,
    Replied,
    Ruled,
    TokenAsked,
    TokenRefused,
    TokenTold,
    Told,
)

NETWORK_S = 0.05  # the longest way of a request from its process to its receiver
UNHEARD = "before flight.__call__"  # a fault
UNHEARD_S = 30.0  # so long after a commit, every process knows the version
# Requests that do not change a destination.
WORK = ("requeue", "discard", "replay", "cancel", "hasten", "withdraw", "cancel all", "retry all")
SOON_S = 0.002  # instants in rows are whole milliseconds


class Process(Struct):
    """One process, for part `part` of `parts`. From `doubted_at` on, another process may own slots of
    this part. From `over_at` on, another process surely owns slots of this part."""

    number: int
    booted_at: float
    clock_s: float
    part: int = 0
    parts: int = 1
    ready_at: float = inf
    ended_at: float = inf
    doubted_at: float = inf
    over_at: float = inf
    why: str = ""  # the reason, if it ended by itself

    def shares(self, other: "Process") -> bool:
        """Return True if the parts of both processes have a slot in common. Slot n belongs to the part
        with the number n % `parts`."""
        return (self.part - other.part) % gcd(self.parts, other.parts) == 0

    def has(self, environment: int) -> bool:
        """Return True if an environment belongs to this process's part. Each workspace has three
        environments. Workspace n belongs to the part with the number n % `parts`."""
        return ((environment - 1) // 3 + 1) % self.parts == self.part


class Sending(Struct):
    """One request as its receiver saw it. `end`: when the receiver replied. If there was no reply, `end`
    is infinite."""

    arrived: Arrived
    index: int
    replied: Replied | None = None

    @property
    def at(self) -> float:
        """An instant about the beginning of the attempt: the request's arrival, minus the time for which
        the attempt waited for its OAuth token before the request left."""
        return self.arrived.at - self.arrived.waited_s

    @property
    def end(self) -> float:
        return inf if self.replied is None else self.replied.at

    @property
    def heard(self) -> bool:
        """True if its process got the answer."""
        return self.replied is not None and self.replied.judged

    @property
    def good(self) -> bool:
        status = None if self.replied is None else self.replied.status
        return status is not None and 200 <= status < 300

    @property
    def gone(self) -> bool:
        return self.replied is not None and self.replied.status == 410


class Fetch(Struct):
    """A token that a process asked for. `end`: when the process got the answer. If the process got no
    answer, `end` is infinite."""

    at: float
    process: int
    endpoint: int
    end: float = inf
    token: str = ""
    life_s: float = 0.0


class Request(Struct):
    """A request that posts events, with its answer. `end`: when the caller got the answer, or infinite if
    the caller got none. `by`: the process to which the request was sent, or was last relayed.
    `tried`: the processes to which the request was relayed before `by`."""

    posted: Posted
    index: int
    by: int
    answered: Answered | None = None
    answered_index: int | None = None
    tried: list[int] = field(default_factory=list)

    @property
    def answer(self) -> str:
        return "lost" if self.answered is None else self.answered.answer

    @property
    def end(self) -> float:
        return inf if self.answered is None else self.answered.at

    @property
    def begun_by(self) -> float:
        """The latest instant at which a process can have begun to handle the request. If a link breaks,
        the caller is told that the result is unknown. But the request can still arrive at a node later,
        so the instant is then infinite."""
        relayed = self.by != self.posted.process
        return inf if relayed and self.answer in ("internal", "lost") else self.end


class Wish(Struct):
    """A caller's request that posts no events, with its answer."""

    asked: Asked
    by: int
    told: Told | None = None

    @property
    def answer(self) -> str:
        return "lost" if self.told is None else self.told.answer

    @property
    def end(self) -> float:
        return inf if self.told is None else self.told.at


class Version(Struct):
    """A version of a destination or rule. `author`: the process that wrote the version. `known_at`: when
    the author surely knows the version. Other processes learn of the version some time after its commit.
    But a process that begins after the commit knows the version from its beginning."""

    fact: Configured | Ruled
    author: int | None = None
    known_at: float = inf
    trouble_s: float = 0.0  # how long faults may have kept processes from reading it

    def known_by(self, process: Process | None) -> float:
        """Return when a process surely acts on this version."""
        if process is not None and process.booted_at > self.fact.at:
            return process.booted_at
        late = self.fact.at + UNHEARD_S + self.trouble_s
        if process is not None and process.number == self.author:
            return min(self.known_at, late)
        return late


class Sight:
    """All facts and rows of one history, arranged by delivery, destination and process."""

    def __init__(self, history: History) -> None:
        self.history = history
        self.rows = history.rows
        self.processes: dict[int, Process] = {}
        self.sendings: list[Sending] = []
        self.refusals: list[TokenRefused] = []
        self.requests: list[Request] = []
        self.wishes: list[Wish] = []
        self.faults: list[Fault] = []
        self.fetches: list[Fetch] = []
        # For each process, the instants at which it noticed a jump of its clock. Each instant has the sum
        # of all jumps up to then.
        self.followed: dict[int, list[tuple[float, float]]] = {}
        self.quiet_at = inf
        self.destinations: dict[str, list[Version]] = defaultdict(list)
        self.rules: dict[str, list[Version]] = defaultdict(list)
        self._read()
        self.events: dict[str, EventRow] = {row.id: row for row in self.rows.events}
        self.deliveries: dict[str, DeliveryRow] = {row.id: row for row in self.rows.deliveries}
        self.attempts: dict[str, list[AttemptRow]] = defaultdict(list)
        for row in sorted(self.rows.attempts, key=lambda row: row.number):
            self.attempts[row.delivery].append(row)
        self.of_delivery: dict[str, list[Sending]] = defaultdict(list)
        self.of_destination: dict[str, list[Sending]] = defaultdict(list)
        for sending in self.sendings:
            self.of_delivery[sending.arrived.delivery].append(sending)
            self.of_destination[sending.arrived.destination].append(sending)
        self._authors()
        self._troubles()

    def _read(self) -> None:
        sendings: dict[int, Sending] = {}
        requests: dict[int, Request] = {}
        wishes: dict[int, Wish] = {}
        fetches: dict[int, Fetch] = {}
        for index, fact in enumerate(self.history.facts):
            match fact:
                case Arrived():
                    sendings[fact.send] = Sending(fact, index)
                case Replied():
                    sendings[fact.send].replied = fact
                case Posted():
                    requests[fact.request] = Request(fact, index, fact.process)
                case Relayed():
                    asked = requests.get(fact.request) or wishes[fact.request]
                    if isinstance(asked, Request) and asked.by != asked.posted.process:
                        asked.tried.append(asked.by)
                    asked.by = fact.process
                case Answered():
                    requests[fact.request].answered = fact
                    requests[fact.request].answered_index = index
                case TokenRefused():
                    self.refusals.append(fact)
                case TokenAsked():
                    fetches[fact.fetch] = Fetch(fact.at, fact.process, fact.endpoint)
                case TokenTold():
                    fetch = fetches[fact.fetch]
                    fetch.end, fetch.token, fetch.life_s = fact.at, fact.token, fact.life_s
                case Asked():
                    wishes[fact.request] = Wish(fact, fact.process)
                case Told():
                    wishes[fact.request].told = fact
                case Configured():
                    self.destinations[fact.destination].append(Version(fact))
                case Ruled():
                    self.rules[fact.rule].append(Version(fact))
                case Booted() | Ready() | Killed() | Ended():
                    self._process(fact)
                case Fault():
                    self.faults.append(fact)
                    self._unheard(fact, self.history.facts[index - 1], sendings)
                    if fact.kind == "followed":
                        drifts = self.followed.setdefault(int(fact.detail), [])
                        drifts.append((fact.at, fact.lasts_s))
                case Quiet():
                    self.quiet_at = fact.at
        self.sendings = list(sendings.values())
        self.requests = list(requests.values())
        self.wishes = list(wishes.values())
        self.fetches = list(fetches.values())

    def _unheard(self, fault: Fault, before: AnyFact, sendings: dict[int, Sending]) -> None:
        """If `fault` kept a receiver's reply from the process, note in `sendings` that the reply was not
        judged. Such a fault gives the process an exception in place of the reply. `before`: the fact just
        before `fault` in the history, which is the reply in this case."""
        if fault.detail == UNHEARD and isinstance(before, Replied) and before.at == fault.at:
            sendings[before.send].replied = replace(before, judged=False)

    def _process(self, fact: Booted | Ready | Killed | Ended) -> None:
        if isinstance(fact, Booted):
            process = Process(fact.process, fact.at, fact.clock_s, fact.part, fact.parts)
            others = [each for each in self.processes.values() if each.shares(process)]
            for other in others:
                other.doubted_at = min(other.doubted_at, fact.at)
            # If an earlier process is neither ready nor ended, it can still take over the database, even
            # after the new process has done so. So the new process is in doubt from its boot to its end.
            if any(each.ready_at == each.ended_at == inf for each in others):
                process.doubted_at = fact.at
            self.processes[fact.process] = process
            return
        process = self.processes[fact.process]
        if isinstance(fact, Ready):
            process.ready_at = fact.at
            for other in self.processes.values():
                # If `other` was ready before `process` began, `process` has surely replaced it.
                # Otherwise, either can have been the first to take over the database.
                if other.ready_at < process.booted_at and other.shares(process):
                    other.over_at = min(other.over_at, fact.at)
        else:
            process.ended_at = min(process.ended_at, fact.at)
            process.why = fact.why if isinstance(fact, Ended) else ""

    def _authors(self) -> None:
        for wish in self.wishes:
            if wish.answer != "done" or wish.asked.kind in WORK:
                continue
            ids = set(() if wish.told is None else wish.told.ids)
            if wish.asked.kind != "rule":  # a new rule changes nothing of its destination
                ids.add(wish.asked.of)
            for identifier in ids:
                for version in (
                    *self.destinations.get(identifier, ()),
                    *self.rules.get(identifier, ()),
                ):
                    if wish.asked.at <= version.fact.at <= wish.end and wish.end < version.known_at:
                        version.author, version.known_at = wish.by, wish.end

    def _troubles(self) -> None:
        clocks = "drift", "followed"  # their seconds are a drift, and not a span of time
        long = [each for each in self.faults if each.lasts_s and each.kind not in clocks]
        for versions in (*self.destinations.values(), *self.rules.values()):
            for version in versions:
                at = version.fact.at
                version.trouble_s = sum(
                    fault.lasts_s
                    for fault in long
                    if fault.at - UNHEARD_S <= at + UNHEARD_S and fault.at + fault.lasts_s >= at
                )

    def reigned(self, sending: Sending) -> bool:
        """Return True if the process that sent a request surely owned the database when the request
        arrived."""
        process = self.processes[sending.arrived.process]
        return sending.at < process.doubted_at

    def in_force(
        self, destination: str, process: int | None, since: float, until: float
    ) -> list[Configured]:
        """Return the destination's versions that a process may have used at some time between `since` and
        `until`."""
        mine = None if process is None else self.processes.get(process)
        found: list[Configured] = []
        versions = self.destinations.get(destination, [])
        for number, version in enumerate(versions):
            assert isinstance(version.fact, Configured)
            if version.fact.at > until:
                break
            later = versions[number + 1] if number + 1 < len(versions) else None
            if later is None or later.known_by(mine) >= since:
                found.append(version.fact)
        return found

    def at_sending(self, sending: Sending) -> list[Configured]:
        """Return the versions by which a request may have been sent."""
        arrived, at = sending.arrived, sending.at
        return self.in_force(arrived.destination, arrived.process, at - NETWORK_S, at)

    def changed(self, destination: str, since: float, until: float) -> bool:
        """Return True if any process may have begun to use a new version of a destination between `since`
        and `until`."""
        return any(
            version.fact.at <= until and version.known_by(None) >= since
            for version in self.destinations.get(destination, [])[1:]
        )

    def final(self, destination: str) -> Configured | None:
        versions = self.destinations.get(destination)
        if not versions:
            return None
        fact = versions[-1].fact
        assert isinstance(fact, Configured)
        return fact

    def clock(self, process: int, at: float) -> float:
        drift_s = 0.0
        for since, total_s in self.followed.get(process, ()):
            drift_s = total_s if since <= at else drift_s
        return at + self.processes[process].clock_s + drift_s

    def latest_clock(self, process: int, since: float, until: float) -> float:
        """Return the latest time that a process's clock showed between `since` and `until`."""
        jumps = [at for at, _ in self.followed.get(process, ()) if since < at < until]
        before = [nextafter(at, -inf) for at in jumps]
        return max(self.clock(process, at) for at in (until, *jumps, *before))

    def ahead_s(self, process: int) -> list[float]:
        """Return how many seconds a process's clock was ahead, at the beginning and after each jump."""
        first = self.processes[process].clock_s
        return [first, *(first + drift_s for _, drift_s in self.followed.get(process, ()))]

    def _is_of(self, sending: Sending, started_at: float, took_s: float) -> bool:
        """Return True if a request can belong to the attempt that, by its process's clock, began at
        `started_at`. The clock may have jumped while the request was on its way. So the comparison is
        tried with the clock before the jump and with the clock after it."""
        process = sending.arrived.process
        came_at = sending.arrived.at
        instants = sending.at - NETWORK_S, sending.at, came_at - NETWORK_S, came_at
        clocks = {self.clock(process, at) - at for at in instants}
        return any(
            abs(sending.end + ahead_s - started_at - took_s) <= SOON_S
            and came_at + ahead_s >= started_at - SOON_S
            for ahead_s in clocks
        )

    def maker(self, attempt: AttemptRow) -> list[Sending]:
        """Return the requests that an attempt's row can describe. The row's number, start and duration
        must fit the request."""
        took_s = attempt.duration_ms / 1000  # on a clock that nobody sets
        return [
            each
            for each in self.of_delivery.get(attempt.delivery, ())
            if each.arrived.number == attempt.number
            and each.heard
            and self._is_of(each, attempt.started_at, took_s)
        ]
