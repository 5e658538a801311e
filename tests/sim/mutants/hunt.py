"""The hunt for the first seed whose history shows a planted bug."""

import signal
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from types import FrameType

from msgspec import Struct

from tests.sim.history import run_plan
from tests.sim.mutants import MUTANTS
from tests.sim.mutants.planting import Mutant
from tests.sim.oracle import violations
from tests.sim.plan import Plan, draw
from tests.sim.several import draw_several

FAR_S = 75  # a wait of the schedule during which an actor leaves memory
LONGEST_S = 30  # CPU time, since a machine can pause; without a bug it takes 0.1 s


ENDLESS = "it never ends"


class EndlessError(BaseException):
    """A history did not end. This is a BaseException, so that no handler in the history catches it."""


class Catch(Struct, frozen=True):
    """A seed whose history shows a bug, with the promises that break."""

    seed: int
    promises: tuple[str, ...]


def planned(seed: int, *, nodes: bool) -> Plan:
    return draw_several(seed) if nodes else draw(seed)


def judged(seed: int, *, nodes: bool = False) -> tuple[str, ...]:
    """Return the promises that a seed's history breaks, in order, each once."""
    try:
        with _patience():
            found = violations(run_plan(planned(seed, nodes=nodes)))
    except Exception as error:  # a bug can break anything, even the simulation
        return (f"simulation: {type(error).__name__}",)
    except (EndlessError, BaseExceptionGroup):  # a nursery wraps it in a group
        return (ENDLESS,)
    return tuple(dict.fromkeys(sentence.partition(":")[0] for sentence in found))


@lru_cache(1024)
def sound(seed: int, *, nodes: bool = False) -> bool:
    """Return True if a history without a planted bug keeps all promises."""
    return not judged(seed, nodes=nodes)


def features(plan: Plan) -> set[str]:
    """Return the names of a plan's features. `Mutant.needs` lists some of these names."""
    found = {*plan.faults, *(wish.kind for wish in plan.wishes)}
    found |= {"dense"} if plan.dense else set()
    found |= {"machines"} if plan.machines else set()
    found |= {"releases"} if plan.releases else set()
    for new in plan.destinations:
        found |= {new.receiver, new.ordering}
        found |= {"long"} if max(new.schedule_s, default=0) > FAR_S else set()
        found |= {"rate"} if new.rate_per_second is not None else set()
        found |= {"customer"} if new.customer is not None else set()
        found |= {"tokens"} if new.endpoint is not None else set()
        found |= {"revocations"} if new.revokes else set()
        found |= {"patience"} if new.disable_after_s is not None else set()
    found |= {"keys"} if any(item.key for post in plan.posts for item in post.items) else set()
    return found | ({"batch"} if any(post.batch for post in plan.posts) else set())


def caught(mutant: Mutant, seeds: Iterable[int]) -> Catch | None:
    """Return the first seed whose history breaks a promise with the mutant but not without the mutant.
    Return None if there is no such seed. The mutant then survives.

    If a history with the mutant does not end, its seed is returned without a run of the history without
    the mutant. The tasks that the endless history leaves behind would disturb another run.
    """
    for seed in seeds:
        if not mutant.needs <= features(planned(seed, nodes=mutant.nodes)):
            continue
        with mutant.planted():
            broken = judged(seed, nodes=mutant.nodes)
        if ENDLESS in broken or (broken and sound(seed, nodes=mutant.nodes)):
            return Catch(seed, broken)
    return None


def hunted(work: tuple[str, tuple[int, ...], int, int]) -> tuple[str, Catch | None]:
    """Try the seeds that caught other mutants first, then `seeds` seeds from `first` on."""
    name, often, first, seeds = work
    return name, caught(MUTANTS[name], (*often, *range(first, first + seeds)))


@contextmanager
def _patience() -> Iterator[None]:
    def ring(number: int, frame: FrameType | None) -> None:
        raise EndlessError

    before = signal.signal(signal.SIGPROF, ring)
    signal.setitimer(signal.ITIMER_PROF, LONGEST_S, 1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)
