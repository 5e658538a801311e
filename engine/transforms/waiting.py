"""The queue of jobs for workers: workspaces take turns, and each turn has the same CPU time.

Within a workspace, its customers take turns of one job. Jobs without a customer take turns as if they all
belonged to one further customer.
"""

from collections import Counter, deque

from msgspec import Struct

from engine.runtime.fair_queue import FairQueue
from engine.transforms.job import Job

TURN_S = 0.001  # the CPU of a turn: some twenty plain scripts
LEAST_S = 0.00005  # the least charge of a run: the engine works for it too
MOST_JOBS = 10_000  # of a workspace: the default number of all attempts in flight
MOST_BYTES = 64 * 1024 * 1024  # of a workspace
CUSTOMER_PART = 4  # a customer can have a fourth of these jobs and bytes: others find room
FREE_S = 0.001  # CPU of a run that does not count against the share; plain scripts need less
SHARE = 0.25  # of a core for a workspace, besides `FREE_S` a run: the computer has other work
BURST_S = 0.5  # CPU beyond the share before slow scripts wait: ten of the worst runs


class WorkspaceQueue:
    """The quick jobs or the slow jobs of one workspace."""

    def __init__(self) -> None:
        self._jobs: FairQueue[str | None, Job] = FairQueue()
        self._bytes: Counter[str | None] = Counter()

    def __len__(self) -> int:
        return self._jobs.count

    def held_by(self, customer: str | None) -> tuple[int, int]:
        """Return the number of a customer's jobs, and their bytes."""
        return self._jobs.waiting(customer), self._bytes[customer]

    def append(self, job: Job) -> None:
        """Add a job behind those of its customer."""
        self._bytes[job.known.customer] += job.size
        self._jobs.put(job.known.customer, job)

    def appendleft(self, job: Job) -> None:
        """Add a job before those of its customer."""
        self._bytes[job.known.customer] += job.size
        self._jobs.put_back(job.known.customer, job)

    def popleft(self) -> Job:
        """Take the next job. The job's customer then goes behind all other customers."""
        return self._take(next(iter(self._jobs)))

    def expired(self, before: float) -> list[Job]:
        """Remove and return the jobs whose wait began earlier than `before`."""
        jobs = self._jobs
        found: list[Job] = []
        for customer in list(jobs):
            while customer in jobs and jobs.first(customer).since < before:
                found.append(self._take(customer))
        return found

    def _take(self, customer: str | None) -> Job:
        job = self._jobs.take_of(customer)
        self._bytes[customer] -= job.size
        if customer not in self._jobs:
            del self._bytes[customer]
        return job


class WorkspaceJobs(Struct, eq=False):
    """The waiting jobs of one workspace, and its account of CPU."""

    workspace: str
    quick: WorkspaceQueue
    slow: WorkspaceQueue
    bytes: int = 0
    credit_s: float = 0.0  # CPU left of its turn; negative if it took more
    owed_s: float = 0.0  # CPU used beyond its share, as of `owed_at`
    owed_at: float = 0.0

    def debt_s(self, now: float) -> float:
        """Return the CPU that the workspace has used beyond its share."""
        return max(0.0, self.owed_s - (now - self.owed_at) * SHARE)

    def has_room(self, job: Job) -> bool:
        """Return True if the limits of the workspace and of the job's customer let the job wait."""
        if len(self.quick) + len(self.slow) >= MOST_JOBS or self.bytes + job.size > MOST_BYTES:
            return False
        customer = job.known.customer
        if customer is None:
            return True
        (quick, quick_bytes), (slow, slow_bytes) = (
            line.held_by(customer) for line in (self.quick, self.slow)
        )
        return (
            quick + slow < MOST_JOBS // CUSTOMER_PART
            and quick_bytes + slow_bytes + job.size <= MOST_BYTES // CUSTOMER_PART
        )

    def idle(self, now: float) -> bool:
        """Return True if the workspace has no jobs and no debt."""
        return not self.quick and not self.slow and self.debt_s(now) <= 0


class JobQueue:
    """The jobs of all workspaces. Owner: the pool. Quick and slow jobs wait in separate queues."""

    def __init__(self) -> None:
        self._tenants: dict[str, WorkspaceJobs] = {}
        self._quick: deque[WorkspaceJobs] = deque()
        self._slow: deque[WorkspaceJobs] = deque()
        self.count = 0

    @property
    def quick(self) -> bool:
        return bool(self._quick)

    @property
    def slow(self) -> bool:
        return bool(self._slow)

    def add(self, job: Job, *, first: bool = False) -> bool:
        """Queue a job; return False if there is no room.

        `first` is for a job that comes back from a worker. The job becomes the next job of its customer,
        even if there is no room.
        """
        tenant = self._tenants.get(job.known.workspace)
        if tenant is None:
            name = job.known.workspace
            tenant = self._tenants[name] = WorkspaceJobs(name, WorkspaceQueue(), WorkspaceQueue())
        if not first and not tenant.has_room(job):
            return False
        quick = job.known.quick and not job.losses
        queue, ring = (tenant.quick, self._quick) if quick else (tenant.slow, self._slow)
        if not queue:
            ring.append(tenant)
        if first:
            queue.appendleft(job)
        else:
            queue.append(job)
        tenant.bytes += job.size
        self.count += 1
        return True

    def take_quick(self) -> Job | None:
        """Remove and return the next quick job."""
        return self._take(self._quick, quick=True) if self._quick else None

    def take_slow(self, now: float) -> Job | None:
        """Remove and return the next slow job; None if no job can be taken. A workspace's slow jobs stay
        in the queue while the workspace has used more than BURST_S of CPU beyond its share."""
        allowed: deque[WorkspaceJobs] = deque()
        held: deque[WorkspaceJobs] = deque()
        for tenant in self._slow:
            (held if tenant.debt_s(now) > BURST_S else allowed).append(tenant)
        if not allowed:
            return None
        job = self._take(allowed, quick=False)
        self._slow = allowed + held
        return job

    def _take(self, ring: deque[WorkspaceJobs], *, quick: bool) -> Job:
        for _ in range(len(ring)):
            if ring[0].credit_s > 0:
                break
            ring.rotate(-1)
        else:
            # All workspaces of the ring have used up the CPU of their turns, or more. A workspace that
            # has used more has a negative credit, and one new turn can be too little for it. So each of
            # these workspaces gets the smallest number of new turns that makes the credit of at least one
            # of them positive.
            turns = int(-max(tenant.credit_s for tenant in ring) / TURN_S) + 1
            for tenant in ring:
                tenant.credit_s = min(TURN_S, tenant.credit_s + turns * TURN_S)
            while ring[0].credit_s <= 0:
                ring.rotate(-1)
        tenant = ring[0]
        queue = tenant.quick if quick else tenant.slow
        job = queue.popleft()
        tenant.bytes -= job.size
        tenant.credit_s -= max(LEAST_S, job.known.expected_s)
        self.count -= 1
        if not queue:
            ring.popleft()
        elif tenant.credit_s <= 0:
            ring.rotate(-1)
        return job

    def charge(self, job: Job, cpu_s: float, now: float) -> None:
        """Charge the job's workspace for the CPU that the job took. This replaces the expected CPU, which
        the workspace was charged when the job was taken."""
        tenant = self._tenants.get(job.known.workspace)
        if tenant is None:
            return
        tenant.credit_s -= max(LEAST_S, cpu_s) - max(LEAST_S, job.expected_s)
        excess = cpu_s - FREE_S
        if excess > 0:
            tenant.owed_s = tenant.debt_s(now) + excess
            tenant.owed_at = now
        if tenant.idle(now):
            del self._tenants[tenant.workspace]

    def expired(self, before: float) -> list[Job]:
        """Remove and return the jobs whose wait began earlier than `before`."""
        found: list[Job] = []
        for tenant in self._tenants.values():
            for queue in (tenant.quick, tenant.slow):
                gone = queue.expired(before)
                tenant.bytes -= sum(job.size for job in gone)
                found += gone
        self.count -= len(found)
        self._quick = deque(tenant for tenant in self._quick if tenant.quick)
        self._slow = deque(tenant for tenant in self._slow if tenant.slow)
        return found

    def forget(self, now: float) -> None:
        """Forget the workspaces without jobs and without debt."""
        for name in [name for name, tenant in self._tenants.items() if tenant.idle(now)]:
            del self._tenants[name]
