"""Planted bugs around the core: in actors, directory, recovery and dispatcher."""

from engine.actors import reading
from engine.actors.actor import DestinationActor
from engine.actors.attempts import Attempts
from engine.actors.checkpoint import Checkpoint
from engine.actors.crash_recovery import CrashRecovery
from engine.actors.directory import Directory
from engine.actors.dispatcher import Dispatcher
from engine.actors.mailbox import Mailbox
from engine.actors.reading import PendingRead
from engine.actors.waker import Waker
from engine.core.fast_path import FastPath
from engine.core.machine import DestinationMachine
from tests.sim.mutants.planting import ALWAYS, DROPPED, NEVER, mutant

ACTORS = (
    mutant(
        "a lost wake-up",
        "An actor that is queued while the dispatcher sleeps does not always wake it.",
        (Dispatcher, "enqueue", "if _asleep", "HERE and self._turns % 7 != 6"),
    ),
    mutant(
        "the line stands",
        "The end of an attempt does not give its place to the next actor.",
        (Attempts, "ended", "call pass_on", DROPPED),
        (
            Attempts,
            "used",
            "if _lines -add",
            DROPPED,
        ),
        needs="small",
    ),
    mutant(
        "a spill is dropped",
        "Deliveries that found no room in a mailbox are not told to the machine.",
        (Mailbox, "pass_on", "call spilled", DROPPED),
        needs="small",
    ),
    mutant(
        "a spill is overtaken",
        "Deliveries that arrive after a spill enter the mailbox before the spill was told.",
        (Mailbox, "offer", "if spills", NEVER),
        needs="small",
    ),
    mutant(
        "arrivals during the start are dropped",
        "Deliveries that commit during the first read of a machine are not told to it.",
        (
            reading.Unsettled,
            "tell",
            "if seq",
            NEVER,
        ),
    ),
    mutant(
        "counted before it is put",
        "Settlements that the recorder did not take count as not recorded, for ever.",
        (
            DestinationActor,
            "_record",
            "call put",
            "self._unrecorded += 1; HERE; self._unrecorded -= 1",
        ),
    ),
    mutant(
        "forgotten before it is put",
        "Late outcomes are forgotten before the recorder has their settlements.",
        (
            CrashRecovery,
            "wind_up",
            "set commands",
            "HERE\nself.late = []",
        ),
    ),
    mutant(
        "a late outcome is dropped",
        "Outcomes that were judged in the turn of a crash, or came after it, are forgotten.",
        (DestinationActor, "_let_go", "add late", DROPPED),
        (DestinationActor, "_settle_after_crash", "add late", DROPPED),
        needs="crash",
    ),
    mutant(
        "a successor does not wait",
        "A crashed actor begins anew while its attempts are in flight.",
        (
            DestinationActor,
            "_settle_after_crash",
            "either in_flight",
            "self.state is ActorState.BACKING_OFF",
        ),
        needs="crash",
    ),
    mutant(
        "a late outcome is judged twice",
        "The outcomes of a crashed turn are kept although they were settled.",
        (DestinationActor, "_record", "call clear", DROPPED),
        needs="crash",
    ),
    mutant(
        "a machine does not hear of commits",
        "Settlements that are durable are not told.",
        (
            DestinationActor,
            "_pass_commit_on",
            "if machine",
            "HERE or len(settlements) == 1",
        ),
    ),
    mutant(
        "a reading that nobody began",
        "A machine waits for ever for a read that had not begun when it was configured anew.",
        (PendingRead, "give_up", "call read_failed", DROPPED),
        needs="small",
    ),
    mutant(
        "leaves while something waits",
        "An idle actor leaves memory although a delivery in it waits for its destination's throttle.",
        (DestinationMachine, "idle", "not held", ALWAYS),
        needs="passive",
    ),
    mutant(
        "what a commit lets go on stands still",
        "No turn follows a commit, although deliveries waited for it.",
        (DestinationActor, "_pass_commit_on", "return follows", "return False"),
    ),
    mutant(
        "the fast path heeds no throttle",
        "The only delivery of a destination is sent although the throttle forbids it.",
        (FastPath, "update", "member calm", ALWAYS),
    ),
    mutant(
        "nobody is next after an end",
        "The end of the only attempt in flight does not release the deliveries that wait for it.",
        (FastPath, "update", "call any_ready", NEVER),
    ),
    mutant(
        "the next attempt has the same number",
        "Attempts are sent under the number of the one before.",
        (
            DestinationActor,
            "_send",
            "sum attempt_count",
            "max(1, delivery.attempt_count)",
        ),
    ),
)
DIRECTORY = (
    mutant(
        "forgettable while dirty",
        "A backlog row is deleted although its destination got work again.",
        (
            Directory,
            "_roused",
            "compare pop",
            "destination in self._forgettable",
        ),
        (Directory, "_add", "call pop _forgettable", DROPPED),
        needs="passive",
    ),
    mutant(
        "told late and sent again",
        "An actor takes deliveries as new that it read and sent before their commit was told.",
        (Directory, "_roused", "not left_just_now", ALWAYS),
        needs="passive",
    ),
    mutant(
        "dirty without a row",
        "A destination whose backlog row was deleted is still taken for one that has a row.",
        (Directory, "take_forgettable", "call discard", DROPPED),
        needs="passive",
    ),
    mutant(
        "rows are never forgotten",
        "The backlog row of a destination with nothing left stays.",
        (Directory, "_retired", "set _forgettable", DROPPED),
    ),
    mutant(
        "recovery begins too high",
        "A start reads from one place beyond the backlog row's low_seq.",
        (
            Directory,
            "recover",
            "call _dormant_at",
            "self._dormant_at(row.destination, row.environment, row.low_seq + 1)",
        ),
        needs="kill",
    ),
    mutant(
        "recovery skips the last",
        "A start reads the backlog of all destinations but one.",
        (Directory, "recover", "call in_slices", "in_slices(rows[:-1], RECOVER_AT_ONCE)"),
        needs="kill",
    ),
    mutant(
        "a retrying head is not read",
        "A start begins above a head that waits for its retry.",
        (
            reading,
            "_unsettled",
            "if ordering",
            NEVER,
        ),
        needs="patch kill",
    ),
    mutant(
        "a start forgets the retries",
        "A start does not learn when the next retry is due.",
        (reading, "_unsettled", "choice due_ms", "None"),
    ),
    mutant(
        "sleepers are forgotten",
        "The waker does not look for actors that left memory with a retry to come.",
        (Waker, "_wake_due", "while sleepers", NEVER),
        needs="passive long",
    ),
    mutant(
        "no instant in the row",
        "An actor that leaves does not write when its next retry is due.",
        (Checkpoint, "_mark_departure", "choice int", "None"),
        needs="passive long",
    ),
    mutant(
        "the dormant are not roused",
        "The waiting deliveries of a destination that was enabled are not looked for.",
        (Directory, "configure", "set _dormant", "dormant = None"),
        needs="switch",
    ),
    mutant(
        "drain begins attempts",
        "A process that ends still begins attempts, and does not wait for them.",
        (Directory, "drain", "set halted", DROPPED),
        (Directory, "drain", "call wait_none", "await trio.lowlevel.checkpoint()"),
        needs="stop",
    ),
)
