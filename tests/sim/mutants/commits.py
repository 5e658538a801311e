"""Bugs around commits: intake, recorder, entry queue, replays, and guards that the database has."""

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
from engine.runtime.halves import Halves
from engine.wire.signing import Signer
from tests.sim.mutants.planting import mutant
from tests.sim.store import settle
from tests.sim.store.tables import Tables

INTAKE = (
    mutant(
        "told before the commit",
        "A request is answered 202 when its statement is sent.",
        (
            Intake,
            "_write",
            "acceptance = await self._outage.outlast(accept, unless=is_final)",
            "if not twins and not group.claims:\n"
            "    self._fail(part, DURABLE)\n"
            "    pending = self._open = []\n"
            "acceptance = await self._outage.outlast(accept, unless=is_final)",
        ),
    ),
    mutant(
        "twins are written",
        "Of two equal keys in one group both events are written.",
        (intake, "grouped", "if twins:", "if False:"),
        needs="keys",
    ),
    mutant(
        "twins are told their own ids",
        "Whose key lost within its group is answered as if it had won.",
        (intake, "with_twins", "if twins:", "if False:"),
        needs="keys",
    ),
    mutant(
        "what was not written is delivered",
        "The deliveries of an event whose key was taken are told to their actors.",
        (intake, "written", "if not absent:", "if True:"),
        needs="keys",
    ),
    mutant(
        "surely not accepted, maybe",
        "A statement that may have been written is answered with 503.",
        (
            Intake,
            "_write",
            "return nothing_written(error) and not answered",
            "return isinstance(error, StoreAwayError) and not answered",
        ),
        needs="unheard",
    ),
    mutant(
        "an intake that does not look again",
        "A group whose fate is not known is written anew as if it had never been.",
        (Intake, "_write", "group.again = again", "pass"),
        needs="unheard",
    ),
    mutant(
        "half of a poisoned group",
        "Of a group that the database refused only the first half is tried again.",
        (
            Halves,
            "divide",
            "self._parts += [list(part[middle:]), list(part[:middle])]",
            "self._parts += [list(part[:middle])]",
        ),
        needs="poison",
    ),
    mutant(
        "seqs from a place too high",
        "Deliveries are told to their actors with the seq of their neighbour.",
        (intake, "written", "acceptance.base", "acceptance.base + 1"),
    ),
    mutant(
        "a destination's row is not written",
        "The backlog row of a destination that gets its first work is left out.",
        (Intake, "_dirtied", "each.destination not in known", "False"),
        needs="kill",
    ),
    mutant(
        "an environment is locked twice",
        "Both intakes write for one environment at once.",
        (EnvironmentLocks, "barred", "other._held | other._wanted", "NO_ENVIRONMENTS"),
        needs="batch",
    ),
    mutant(
        "routes are never compiled anew",
        "A change of the rules acts on types that were never seen only.",
        (Router, "known", "if known is not None and known[0] == version:", "if known is not None:"),
        needs="rules",
    ),
    mutant(
        "customers are not told apart",
        "An event of no customer goes to the destinations of all customers.",
        (
            Models,
            "_place",
            "index.put(rule.id, rule.event_types, rule)",
            "index = indexes.setdefault(None, index)\nindex.put(rule.id, rule.event_types, rule)",
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
            "_count_attempt",
            "delta.attempts += 1",
            "delta.attempts += 1 + (attempt.number > 1)",
        ),
    ),
    mutant(
        "the second death counts",
        "A delivery that dies again after a requeue is counted again as dead.",
        (
            minutes,
            "minute_deltas",
            "settlement.dead_lettered and delivery.dlq_status is None",
            "settlement.dead_lettered",
        ),
        needs="requeue",
    ),
    mutant(
        "a requeued replay stays failed",
        "A replay that is delivered after all is not taken from those that failed.",
        (recording_group, "_replays", "delta.failed -= again", "pass"),
        needs="requeue replay",
    ),
    mutant(
        "no relief",
        "Actors that were kept from sending while outcomes waited are not told when that is over.",
        (Recorder, "_relieve", "self._relieved()", "pass"),
        needs="small",
    ),
    mutant(
        "a group is dropped",
        "A group of outcomes whose fate is not known is taken for written.",
        (Recorder, "_settle", "group.again = again", "if again:\n    return\ngroup.again = again"),
        needs="unheard",
    ),
    mutant(
        "told before it is recorded",
        "Actors learn that an outcome is durable when its statement is sent.",
        (
            Recorder,
            "_settle",
            "counts = counts_of(group.settlements)",
            "counts = counts_of(group.settlements)\nself._tell(taken)\ntaken = []",
        ),
        needs="kill",
    ),
)
ENTRANCE = (
    mutant(
        "requeued and not told",
        "What came out of the dead-letter queue is not told to its actor.",
        (EntryQueue, "admit_next", "if mine.deliveries:", "if False:"),
        needs="requeue",
    ),
    mutant(
        "an entry queue that does not look again",
        "An entry whose fate is not known is written anew as if it had never been.",
        (
            EntryQueue,
            "_written",
            "entry.write(base, dirty, again=again)",
            "entry.write(base, dirty, again=False)",
        ),
        needs="requeue unheard",
    ),
    mutant(
        "an entry queue without rows",
        "An entry's destinations get no backlog row.",
        (
            EntryQueue,
            "_written",
            "entry.write(base, dirty, again=again)",
            "entry.write(base, [], again=again)",
        ),
        needs="requeue kill",
    ),
    mutant(
        "requeued at the old place",
        "Requeued deliveries are told with the seq of their former life.",
        (
            RequeueEntry,
            "write",
            "self.done, self.left = requeued.done, requeued.left",
            "self.done, self.left = requeued.done, requeued.left\n"
            "for each in requeued.alive:\n"
            "    each.seq = 1",
        ),
        needs="requeue",
    ),
    mutant(
        "the cursor moves first",
        "A replay job's cursor is moved before the chunk is written.",
        (
            ReplayRunner,
            "_enqueue",
            "if not replays:",
            "if replays:\n"
            "    await self._store.pass_over(chunk)\n"
            "    running.lost = True\n"
            "    return True\n"
            "if not replays: ...",
        ),
        needs="replay",
    ),
    mutant(
        "a lane's first is passed over",
        "A replay job that parks a lane begins again behind the first that it parked.",
        (runner, "fitting", "parks[lane] = shifted(each.id, -1)", "parks[lane] = each.id"),
        needs="replay KEY",
    ),
    mutant(
        "replays are told at another place",
        "Replays are told to their actor with the seq of their neighbour.",
        (
            ChunkEntry,
            "write",
            "enumerate(self._chunk.deliveries, base)",
            "enumerate(self._chunk.deliveries, base + 1)",
        ),
        needs="replay",
    ),
    mutant(
        "a job's orders are all retries",
        "A job that is to cancel deliveries has them sent.",
        (OrderGiver, "_give", "_ORDERS[running.job.kind]", "Order.RETRY"),
        needs="replay withdraw",
    ),
    mutant(
        "a cancelling job forgets attempts in flight",
        "A job that cancels counts a delivery as cancelled that still waits.",
        (ordering, "judged", "None if delivery.waits else delivery.discarded", "True"),
        needs="replay withdraw",
    ),
)
SIGNING = (
    mutant(
        "only the key before signs",
        "For a day after a rotation requests are signed by the former key alone.",
        (Signer, "_choose", "signs[0] if len(signs) == 1 else _by_all(signs)", "signs[-1]"),
        needs="rotate",
    ),
)
DATABASE = (
    mutant(
        "the epoch of outcomes is ignored",
        "A former owner's outcomes are written.",
        (
            Tables,
            "require_settle",
            "if self.owner != process or self.settle_epoch != epoch:",
            "if False:",
        ),
        needs="takeover",
    ),
    mutant(
        "the epoch of events is ignored",
        "A former owner's events are written.",
        (
            Tables,
            "owns_intake",
            "return self.owner == process and self.intake_epoch == epoch",
            "return True",
        ),
        needs="takeover",
    ),
    mutant(
        "states are not guarded",
        "An outcome changes its row whatever that has been through meanwhile.",
        (settle, "_changed", "row is None or row.attempts != settlement.expects", "row is None"),
        (settle, "_changed", "row.seq == delivery.seq", "True"),
        needs="requeue unheard",
    ),
)
