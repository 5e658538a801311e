"""Planted bugs in the pure core: schedule, circuit, throttle, backlog, lanes, reads."""

from engine.core import circuit, machine, picker, verdict
from engine.core.backlog import Backlog
from engine.core.circuit import Circuit
from engine.core.discarder import Discarder
from engine.core.lanes import Lanes
from engine.core.machine import DestinationMachine
from engine.core.orders import Orders
from engine.core.picker import Picker
from engine.core.reader import Outstanding, Reader
from engine.core.throttle import Throttle, TokenBucket
from engine.core.window import Window
from tests.sim.mutants.planting import ALWAYS, DROPPED, NEVER, mutant

SCHEDULE = (
    mutant(
        "early retry",
        "The jitter makes waits up to 60 % shorter instead of 20 %.",
        (
            verdict,
            "retry_at",
            "set JITTER",
            "due = now + schedule[failures - 1] * (1 - 3 * JITTER * chance)",
        ),
    ),
    mutant(
        "backoff one ahead",
        "The first failure waits as the second should: the schedule is read one place too far.",
        (verdict, "retry_at", "item schedule", "schedule[failures - len(schedule)]"),
    ),
    mutant(
        "one attempt too few",
        "The last entry of the schedule is never used.",
        (verdict, "retry_at", "compare len", "failures >= len(schedule)"),
    ),
    mutant(
        "one attempt too many",
        "A delivery whose schedule is used up is tried once more.",
        (verdict, "retry_at", "call len", "HERE + 1"),
        (picker, "exhausted", "call len", "1 + HERE"),
        (verdict, "retry_at", "item schedule", "(*schedule, 1)[failures - 1]"),
    ),
    mutant(
        "a 410 is retried",
        "A delivery that met a 410 is tried again by its schedule.",
        (
            machine,
            "failed",
            "if category",
            NEVER,
        ),
        needs="gone",
    ),
    mutant(
        "a 410 holds nobody",
        "The other deliveries of a destination that said 410 are sent on.",
        (Throttle, "failed", "set DESTINATION_GONE", "gone = False"),
        needs="gone",
    ),
    mutant(
        "a time-out is a success",
        "An attempt without an answer settles its delivery as DELIVERED.",
        (
            DestinationMachine,
            "judged",
            "if success",
            "HERE or outcome.status is None",
        ),
    ),
    mutant(
        "requeued without a fresh schedule",
        "A requeued delivery counts the attempts of its former life.",
        (machine, "failed", "sum schedule_start", "number"),
        needs="requeue",
    ),
)
GATES = (
    mutant(
        "Retry-After ignored",
        "A receiver that asks for a pause gets none.",
        (Throttle, "failed", "if retry_after_s", NEVER),
        needs="busy",
    ),
    mutant(
        "Retry-After forgotten at rest",
        "An actor that leaves memory forgets the pause that its receiver asked for.",
        (Throttle, "snapshot", "member paused_until", "None"),
        needs="busy passive",
    ),
    mutant(
        "the circuit never opens",
        "Failures in a row are counted and nothing follows.",
        (Circuit, "failed", "set FAILURES_TO_OPEN", "full = False"),
    ),
    mutant(
        "two probes",
        "An open circuit lets two deliveries go at once.",
        (Throttle, "allow", "set wanted", "wanted = min(2, wanted)"),
    ),
    mutant(
        "probes without patience",
        "The wait between two probes does not grow.",
        (circuit, "probe_delay_s", "sum min", "1"),
    ),
    mutant(
        "one more in flight",
        "One attempt more than the destination's concurrency is begun.",
        (
            Picker,
            "pick",
            "call min may_send",
            "min(may_send, width + 1 - len(in_flight))",
        ),
    ),
    mutant(
        "the rate is not spent",
        "Attempts take nothing from the bucket of the destination's rate.",
        (TokenBucket, "spend", "add _tokens", DROPPED),
        needs="rate",
    ),
    mutant(
        "disabled still sends",
        "A destination that was disabled goes on being sent to.",
        (
            DestinationMachine,
            "commands",
            "compare status",
            ALWAYS,
        ),
    ),
    mutant(
        "archived keeps what waits",
        "Archiving leaves what waits as it is.",
        (
            Discarder,
            "_settle",
            "either _in_flight",
            ALWAYS,
        ),
        needs="archive",
    ),
)
BACKLOG = (
    mutant(
        "what waits too long stays so behind a page",
        "After a clock was set back only the first page of waits is cut; the others are not read.",
        (Reader, "recall", "set beyond", DROPPED),
        (Reader, "leaves_more", "set beyond", DROPPED),
        needs="kill",
    ),
    mutant(
        "low_seq above what is uncommitted",
        "The backlog row passes over what has ended and is not durable yet.",
        (
            Backlog,
            "low_seq",
            "call values _uncommitted",
            "()",
        ),
        needs="kill",
    ),
    mutant(
        "low_seq above what is in flight",
        "The backlog row passes over what is in flight.",
        (
            Backlog,
            "low_seq",
            "tuple values",
            "(*self.waiting(),)",
        ),
        needs="kill",
    ),
    mutant(
        "low_seq above what is stored",
        "The backlog row passes over what was left in the store.",
        (Backlog, "low_seq", "compare c last", "c > last"),
        needs="small",
    ),
    mutant(
        "direct too early",
        "What arrives goes into memory although older deliveries are still in the store.",
        (Backlog, "arrive", "compare lasts", NEVER),
        needs="small",
    ),
    mutant(
        "a retry is forgotten",
        "A delivery that leaves memory to wait for its retry is not noted.",
        (Backlog, "retried", "call leaves", DROPPED),
    ),
    mutant(
        "due ones without room are forgotten",
        "Due deliveries that were read and found no room are not read again.",
        (Backlog, "due", "call leaves", DROPPED),
        (Reader, "leaves_more", "call leaves", DROPPED),
        needs="small NONE",
    ),
    mutant(
        "what is in flight is read back",
        "A row that is in flight or uncommitted is taken for news.",
        (Backlog, "_is_news", "if known", NEVER),
    ),
    mutant(
        "a stale answer",
        "A row that changed while it was being read is taken as it was.",
        (
            Outstanding,
            "is_stale",
            "compare seq",
            NEVER,
        ),
        needs="small",
    ),
    mutant(
        "the answer's rest is lost",
        "The cursor moves over what an answer had no room for.",
        (Backlog, "_loaded_range", "set end", DROPPED),
        needs="small",
    ),
    mutant(
        "put by and forgotten",
        "What arrived during a read is not placed after its answer.",
        (Backlog, "_loaded_range", "call _place_ahead", DROPPED),
        (
            Window,
            "note",
            "set lasts",
            "if count:\n    HERE",
        ),
        needs="small",
    ),
    mutant(
        "a former life goes on",
        "A requeued delivery is told while its death is uncommitted, and takes its place beside it.",
        (DestinationMachine, "arrive", "name forget_former", "(lambda *_: None)"),
        needs="requeue",
    ),
)
ORDERS = (
    mutant(
        "a cancelled attempt is retried",
        "The order to cancel what is in flight is forgotten when its attempt fails.",
        (Orders, "cancels", "compare pop", NEVER),
    ),
    mutant(
        "what is hastened passes the rate",
        "A delivery that somebody asked for is sent although the rate is used up.",
        (Throttle, "allow_urgent", "call min", "wanted"),
        needs="rate",
    ),
    mutant(
        "a row ordered after its end",
        "A row that was read for an order is taken as it was although it changed meanwhile.",
        (Orders, "named", "either is_stale", "row is None"),
        (
            Orders,
            "named",
            "either _in_flight",
            NEVER,
        ),
    ),
    mutant(
        "a lane moves past a cancellation",
        "The next of a lane is sent before the end of a delivery ahead of it is durable.",
        (Lanes, "hold", "set _ending", DROPPED),
        needs="kill",
    ),
    mutant(
        "what is urgent is held twice",
        "What was taken out of the store ahead of the cursor is taken again by the cursor.",
        (Backlog, "_is_news", "compare urgent", ALWAYS),
        needs="small",
    ),
)
LANES = (
    mutant(
        "a failing head lets its lane go",
        "The next of a lane is sent while its head waits for its retry.",
        (
            Backlog,
            "retried",
            "call wait",
            "self.lanes.release(delivery, now); self.queue.offer(delivery)",
        ),
    ),
    mutant(
        "a lane goes on before the commit",
        "A head that died frees its lane before its death is durable.",
        (
            DestinationMachine,
            "judged",
            "call failed _throttle",
            "HERE\n"
            "if settlement.next_attempt_at is None and self._backlog.lanes is not None:\n"
            "    self._backlog.lanes.release(known, now)",
        ),
        needs="kill",
    ),
    mutant(
        "a lane is forgotten",
        "A lane whose rest is in the store is not asked for when it has run empty.",
        (Lanes, "release", "set wanted", DROPPED),
        needs="small",
    ),
    mutant(
        "a parked lane is forgotten",
        "A lane that was parked with its head is not read back when that is due.",
        (Lanes, "promote", "set wanted", DROPPED),
    ),
    mutant(
        "what came late to a lane is forgotten",
        "What arrived while a lane was being read is taken for part of the answer.",
        (Lanes, "reload", "compare late_first", NEVER),
    ),
    mutant(
        "a lane's rest is forgotten",
        "Deliveries of a lane that found no room when the lane was read back are forgotten.",
        (Lanes, "reload", "call _skip", DROPPED),
        needs="small",
    ),
    mutant(
        "a lane knows no skipped ones",
        "What arrives for a lane goes into memory before the lane's deliveries in the store.",
        (Lanes, "admit", "if skipped_from", NEVER),
        needs="small",
    ),
    mutant(
        "a lane in reverse",
        "A lane that is read back is taken from its end.",
        (Lanes, "reload", "call extend", "lane.items.extend(reversed(taken))"),
        needs="small",
    ),
    mutant(
        "a lane reads beyond the cursor",
        "A lane's read takes deliveries that the cursor has not reached yet.",
        (Backlog, "_loaded_lane", "compare seq delivery", ALWAYS),
        needs="small",
    ),
)
