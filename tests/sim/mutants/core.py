"""Bugs in the pure core: schedule, circuit, throttle, backlog, lanes, reads."""

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
from tests.sim.mutants.planting import mutant

SCHEDULE = (
    mutant(
        "early retry",
        "The jitter makes waits up to 60 % shorter instead of 20 %.",
        (verdict, "retry_at", "1 - JITTER + 2 * JITTER * chance", "1 - 3 * JITTER * chance"),
    ),
    mutant(
        "backoff one ahead",
        "The first failure waits as the second should: the schedule is read one place too far.",
        (verdict, "retry_at", "schedule[failures - 1]", "schedule[failures - len(schedule)]"),
    ),
    mutant(
        "one attempt too few",
        "The last entry of the schedule is never used.",
        (verdict, "retry_at", "failures > len(schedule)", "failures >= len(schedule)"),
    ),
    mutant(
        "one attempt too many",
        "A delivery whose schedule is used up is tried once more.",
        (verdict, "retry_at", "failures > len(schedule)", "failures > len(schedule) + 1"),
        (picker, "exhausted", "len(config.retry_schedule_s)", "1 + len(config.retry_schedule_s)"),
        (verdict, "retry_at", "schedule[failures - 1]", "(*schedule, 1)[failures - 1]"),
    ),
    mutant(
        "a 410 is retried",
        "A delivery that met a 410 is tried again by its schedule.",
        (
            machine,
            "failed",
            "if outcome.category == ErrorCategory.DESTINATION_GONE:",
            "if False:",
        ),
        needs="gone",
    ),
    mutant(
        "a 410 holds nobody",
        "The other deliveries of a destination that said 410 are sent on.",
        (Throttle, "failed", "gone", "False"),
        needs="gone",
    ),
    mutant(
        "a time-out is a success",
        "An attempt without an answer settles its delivery as DELIVERED.",
        (
            DestinationMachine,
            "judged",
            "if outcome.success:",
            "if outcome.success or outcome.status is None:",
        ),
    ),
    mutant(
        "requeued without a fresh schedule",
        "A requeued delivery counts the attempts of its former life.",
        (machine, "failed", "number - delivery.schedule_start", "number"),
        needs="requeue",
    ),
)
GATES = (
    mutant(
        "Retry-After ignored",
        "A receiver that asks for a pause gets none.",
        (Throttle, "failed", "if outcome.retry_after_s is not None:", "if False:"),
        needs="busy",
    ),
    mutant(
        "Retry-After forgotten at rest",
        "An actor that leaves memory forgets the pause that its receiver asked for.",
        (Throttle, "snapshot", "self.paused_until", "None"),
        needs="busy passive",
    ),
    mutant(
        "the circuit never opens",
        "Failures in a row are counted and nothing follows.",
        (Circuit, "failed", "full", "False"),
    ),
    mutant(
        "two probes",
        "An open circuit lets two deliveries go at once.",
        (Throttle, "allow", "wanted = 1", "wanted = min(2, wanted)"),
    ),
    mutant(
        "probes without patience",
        "The wait between two probes does not grow.",
        (circuit, "probe_delay_s", "(1 << min(tries, 6))", "1"),
    ),
    mutant(
        "one more in flight",
        "One attempt more than the destination's concurrency is begun.",
        (
            Picker,
            "pick",
            "min(may_send, width - len(in_flight))",
            "min(may_send, width + 1 - len(in_flight))",
        ),
    ),
    mutant(
        "the rate is not spent",
        "Attempts take nothing from the bucket of the destination's rate.",
        (TokenBucket, "spend", "self._tokens -= count", "pass"),
        needs="rate",
    ),
    mutant(
        "disabled still sends",
        "A destination that was disabled goes on being sent to.",
        (
            DestinationMachine,
            "commands",
            "self.config.status == DestinationStatus.ACTIVE",
            "True",
        ),
    ),
    mutant(
        "archived keeps what waits",
        "Archiving leaves what waits as it is.",
        (
            Discarder,
            "_settle",
            "identifier in self._in_flight or identifier in self._uncommitted",
            "True",
        ),
        needs="archive",
    ),
)
BACKLOG = (
    mutant(
        "what waits too long stays so behind a page",
        "After a clock was set back the first page of waits is cut; nobody looks for the others.",
        (Reader, "recall", "self.beyond = now", "pass"),
        (Reader, "leaves_more", "self.beyond = now + RETRY_READ_S", "pass"),
        needs="kill",
    ),
    mutant(
        "low_seq above what is uncommitted",
        "The backlog row passes over what has ended and is not durable yet.",
        (
            Backlog,
            "low_seq",
            "self._uncommitted.values()",
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
            "(*self._in_flight.values(), *self.waiting())",
            "(*self.waiting(),)",
        ),
        needs="kill",
    ),
    mutant(
        "low_seq above what is stored",
        "The backlog row passes over what was left in the store.",
        (Backlog, "low_seq", "c < last", "c > last"),
        needs="small",
    ),
    mutant(
        "direct too early",
        "What arrives goes into memory although older deliveries are still in the store.",
        (Backlog, "arrive", "cursors[group] != lasts[group]", "False"),
        needs="small",
    ),
    mutant(
        "a retry is forgotten",
        "A delivery that leaves memory to wait for its retry is not noted.",
        (Backlog, "retried", "self.reader.leaves(due)", "pass"),
    ),
    mutant(
        "due ones without room are forgotten",
        "What was read as due and found no room is not read again.",
        (Backlog, "due", "self.reader.leaves(due)", "pass"),
        (Reader, "leaves_more", "self.leaves(min(last_due, latest))", "pass"),
        needs="small NONE",
    ),
    mutant(
        "what is in flight is read back",
        "A row that is in flight or uncommitted is taken for news.",
        (Backlog, "_is_news", "if known is not None:", "if False:"),
    ),
    mutant(
        "a stale answer",
        "A row that changed while it was being read is taken as it was.",
        (
            Outstanding,
            "is_stale",
            "delivery.seq <= self.settled.get(delivery.id, -1)",
            "False",
        ),
        needs="small",
    ),
    mutant(
        "the answer's rest is lost",
        "The cursor moves over what an answer had no room for.",
        (Backlog, "_loaded_stretch", "through, end = delivery.seq - 1, False", "pass"),
        needs="small",
    ),
    mutant(
        "put by and forgotten",
        "What arrived during a read is not placed after its answer.",
        (Backlog, "_loaded_stretch", "self._place_ahead(outstanding.ahead, group, now)", "pass"),
        (
            Window,
            "note",
            "self.lasts[group] = seq",
            "self.lasts[group] = seq if count else self.lasts[group]",
        ),
        needs="small",
    ),
    mutant(
        "a former life goes on",
        "A requeued delivery is told while its death is uncommitted, and takes its place beside it.",
        (DestinationMachine, "arrive", "forget_former", "(lambda *_: None)"),
        needs="requeue",
    ),
)
ORDERS = (
    mutant(
        "a cancelled attempt is retried",
        "The order to cancel what is in flight is forgotten when its attempt fails.",
        (Orders, "cancels", "self.open.pop(delivery.id, None) is Order.CANCEL", "False"),
    ),
    mutant(
        "what is hastened passes the rate",
        "A delivery that somebody asked for is sent although the rate is used up.",
        (Throttle, "allow_urgent", "min(wanted, self.bucket.available(now))", "wanted"),
        needs="rate",
    ),
    mutant(
        "a row ordered after its end",
        "A row that was read for an order is taken as it was although it changed meanwhile.",
        (Orders, "named", "row is None or read.is_stale(row)", "row is None"),
        (
            Orders,
            "named",
            "identifier in self._in_flight or identifier in self._uncommitted",
            "False",
        ),
    ),
    mutant(
        "a lane moves past a cancellation",
        "The next of a lane is sent before the end of a delivery ahead of it is durable.",
        (Lanes, "hold", "self._ending[delivery.id] = key", "pass"),
        needs="kill",
    ),
    mutant(
        "what is urgent is held twice",
        "What was taken out of the store ahead of the cursor is taken again by the cursor.",
        (Backlog, "_is_news", "identifier not in self.queue.urgent", "True"),
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
            "self.lanes.wait(delivery, now)",
            "self.lanes.release(delivery, now); self.queue.offer(delivery)",
        ),
    ),
    mutant(
        "a lane goes on before the commit",
        "A head that died frees its lane before its death is durable.",
        (
            DestinationMachine,
            "judged",
            "self._throttle.failed(known, outcome, self.config, now)",
            "self._throttle.failed(known, outcome, self.config, now)\n"
            "if settlement.next_attempt_at is None and self._backlog.lanes is not None:\n"
            "    self._backlog.lanes.release(known, now)",
        ),
        needs="kill",
    ),
    mutant(
        "a lane is forgotten",
        "A lane whose rest is in the store is not asked for when it has run empty.",
        (Lanes, "release", "self.wanted[lane.key] = None", "pass"),
        needs="small",
    ),
    mutant(
        "a parked lane is forgotten",
        "A lane that was parked with its head is not read back when that is due.",
        (Lanes, "promote", "self.wanted[key] = None", "pass"),
    ),
    mutant(
        "what came late to a lane is forgotten",
        "What arrived while a lane was being read is taken for part of the answer.",
        (Lanes, "reload", "lane.late_first is not None", "False"),
    ),
    mutant(
        "a lane's rest is forgotten",
        "What of a lane found no room when that was read back is remembered by nobody.",
        (Lanes, "reload", "if left_from is not None:", "if False:"),
        needs="small",
    ),
    mutant(
        "a lane knows no skipped ones",
        "What arrives for a lane goes into memory before what of it is in the store.",
        (Lanes, "admit", "if lane is not None and lane.skipped_from is not None:", "if False:"),
        needs="small",
    ),
    mutant(
        "a lane in reverse",
        "What is read back of a lane is taken from its end.",
        (Lanes, "reload", "lane.items.extend(taken)", "lane.items.extend(reversed(taken))"),
        needs="small",
    ),
    mutant(
        "a lane reads beyond the cursor",
        "What the reading of a lane brings is taken although the cursor has yet to come to it.",
        (Backlog, "_loaded_lane", "delivery.seq <= cursor", "True"),
        needs="small",
    ),
)
