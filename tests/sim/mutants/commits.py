"""Planted bugs around commits: in intake, recorder, entry queue, replays, signing and database checks."""

from engine.core import minutes
from engine.intake import intake
from engine.intake.entries import EntryQueue
from engine.intake.environment_locks import EnvironmentLocks
from engine.intake.intake import Intake
from engine.model.read_models import Models
from engine.recording import group as recording_group
from engine.recording.recorder import Recorder
from engine.recording.requeue import RequeueEntry
from engine.replay import ordering, runner
from engine.replay.admission import ChunkEntry
from engine.replay.ordering import OrderGiver
from engine.replay.runner import ReplayRunner
from engine.routing.router import Router
from engine.runtime.bisection import Bisection
from engine.wire.signing import Signer
from tests.sim.mutants.planting import ALWAYS, DROPPED, NEVER, mutant
from tests.sim.store import settle
from tests.sim.store.rights import Rights

INTAKE = (
    mutant(
        "told before the commit",
        "A request is answered 202 when its statement is sent.",
        (
            Intake,
            "_write",
            "set outlast",
            "if not twins and not group.claims:\n"
            "    self._fail(part, DURABLE)\n"
            "    pending = self._open = []\n"
            "HERE",
        ),
    ),
    mutant(
        "twins are written",
        "Both events of two equal keys in one group are written.",
        (intake, "grouped", "if twins", NEVER),
        needs="keys",
    ),
    mutant(
        "twins are told their own ids",
        "An event whose key lost within its group is answered as if it had won.",
        (intake, "with_twins", "if twins", NEVER),
        needs="keys",
    ),
    mutant(
        "what was not written is delivered",
        "The deliveries of an event whose key was taken are told to their actors.",
        (intake, "written", "if absent", ALWAYS),
        needs="keys",
    ),
    mutant(
        "surely not accepted, maybe",
        "A statement that may have been written is answered with 503.",
        (
            Intake,
            "_write",
            "return answered",
            "return isinstance(error, StoreAwayError) and not answered",
        ),
        needs="unheard",
    ),
    mutant(
        "an intake that does not look again",
        "A group whose fate is not known is written anew as if it had never been.",
        (Intake, "_write", "set again", DROPPED),
        needs="unheard",
    ),
    mutant(
        "half of a poisoned group",
        "Only the first half of a group that the database refused is tried again.",
        (
            Bisection,
            "divide",
            "add _parts",
            "self._parts += [list(part[:middle])]",
        ),
        needs="poison",
    ),
    mutant(
        "seqs from a place too high",
        "Deliveries are told to their actors with the seq of their neighbour.",
        (intake, "written", "member base", "HERE + 1"),
    ),
    mutant(
        "a destination's row is not written",
        "The backlog row of a destination that gets its first work is left out.",
        (Intake, "_dirtied", "compare destination", NEVER),
        needs="kill",
    ),
    mutant(
        "an environment is locked twice",
        "Both intakes write for one environment at once.",
        (EnvironmentLocks, "barred", "sum _held", "NO_ENVIRONMENTS"),
        needs="batch",
    ),
    mutant(
        "routes are never compiled anew",
        "A change of the rules acts only on event types that were never seen.",
        (Router, "known", "if known", "known is not None"),
        needs="rules",
    ),
    mutant(
        "customers are not told apart",
        "An event of no customer goes to the destinations of all customers.",
        (
            Models,
            "_place",
            "call put",
            "index = indexes.setdefault(None, index)\nHERE",
        ),
        needs="customer",
    ),
)
RECORDER = (
    mutant(
        "attempts are counted twice",
        "An attempt that is not the first adds two to its minute.",
        (
            minutes,
            "minute_deltas",
            "add attempts",
            "HERE\ndelta.attempts += attempt.number > 1",
        ),
    ),
    mutant(
        "the second death counts",
        "A delivery that dies again after a requeue is counted again as dead.",
        (
            minutes,
            "minute_deltas",
            "either dlq_status",
            "settlement.dead_lettered",
        ),
        needs="requeue",
    ),
    mutant(
        "a requeued replay stays failed",
        "A replay that is delivered after all still counts as failed.",
        (recording_group, "_replays", "add again", DROPPED),
        needs="requeue replay",
    ),
    mutant(
        "no relief",
        "Actors that were kept from sending while outcomes waited are not told when that is over.",
        (Recorder, "_relieve", "call _relieved", DROPPED),
        needs="small",
    ),
    mutant(
        "a group is dropped",
        "A group of outcomes whose fate is not known is taken for written.",
        (Recorder, "_settle", "set again", "if again:\n    return\nHERE"),
        needs="unheard",
    ),
    mutant(
        "told before it is recorded",
        "Actors learn that an outcome is durable when its statement is sent.",
        (
            Recorder,
            "_settle",
            "set reports",
            "HERE\nself._tell(taken)\ntaken = []",
        ),
        needs="kill",
    ),
)
ENTRANCE = (
    mutant(
        "requeued and not told",
        "Requeued deliveries are not told to their actor.",
        (EntryQueue, "admit_next", "if deliveries", NEVER),
        needs="requeue",
    ),
    mutant(
        "an entry queue that does not look again",
        "An entry whose fate is not known is written anew as if it had never been.",
        (
            EntryQueue,
            "_written",
            "call write",
            "await entry.write(base, dirty, again=False)",
        ),
        needs="requeue unheard",
    ),
    mutant(
        "an entry queue without rows",
        "An entry's destinations get no backlog row.",
        (
            EntryQueue,
            "_written",
            "call write",
            "await entry.write(base, [], again=again)",
        ),
        needs="requeue kill",
    ),
    mutant(
        "requeued at the old place",
        "Requeued deliveries are told with the seq of their former life.",
        (
            RequeueEntry,
            "write",
            "set done",
            "HERE\nfor each in requeued.alive:\n    each.seq = 1",
        ),
        needs="requeue",
    ),
    mutant(
        "the cursor moves first",
        "A replay job's cursor is moved before the chunk is written.",
        (
            ReplayRunner,
            "_enqueue",
            "if replays",
            "if replays:\n"
            "    await self._store.pass_over(chunk)\n"
            "    running.lost = True\n"
            "    return True\n"
            "HERE",
        ),
        needs="replay",
    ),
    mutant(
        "a lane's first is passed over",
        "A replay job that parks a lane begins again behind the first delivery that it parked.",
        (runner, "fitting", "set shifted", "parks[lane] = each.id"),
        needs="replay KEY",
    ),
    mutant(
        "replays are told at another place",
        "Replays are told to their actor with the seq of their neighbour.",
        (
            ChunkEntry,
            "write",
            "call enumerate",
            "enumerate(self._chunk.deliveries, base + 1)",
        ),
        needs="replay",
    ),
    mutant(
        "a job's orders are all retries",
        "A job that is to cancel deliveries has them sent.",
        (OrderGiver, "_give", "item _ORDERS", "Order.RETRY"),
        needs="replay withdraw",
    ),
    mutant(
        "a cancelling job forgets attempts in flight",
        "A job that cancels counts a delivery as cancelled that still waits.",
        (ordering, "judged", "choice waits", ALWAYS),
        needs="replay withdraw",
    ),
)
SIGNING = (
    mutant(
        "only the key before signs",
        "For a day after a rotation requests are signed by the former key alone.",
        (Signer, "_choose", "choice len", "signs[-1]"),
        needs="rotate",
    ),
)
DATABASE = (
    mutant(
        "the epoch of outcomes is ignored",
        "A former owner's outcomes are written.",
        (
            Rights,
            "require_settle",
            "if shards",
            NEVER,
        ),
        needs="takeover",
    ),
    mutant(
        "the epoch of events is ignored",
        "A former owner's events are written.",
        (
            Rights,
            "owns_intake",
            "return processes",
            "return True",
        ),
        needs="takeover",
    ),
    mutant(
        "states are not guarded",
        "An outcome changes its row, even if the row has changed meanwhile.",
        (settle, "_changed", "either attempts", "row is None"),
        (settle, "_changed", "compare seq", ALWAYS),
        needs="requeue unheard",
    ),
)
