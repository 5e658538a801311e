"""Planted bugs in the large intake: in how it writes a large group in several parts, and in the locks
that keep both intakes from writing for the same environment at the same time."""

from engine.intake.entries import EntryQueue
from engine.intake.environment_locks import EnvironmentLocks
from engine.intake.intake import Intake
from tests.sim.mutants.planting import ALWAYS, DROPPED, NEVER, mutant
from tests.sim.store import large_intake
from tests.sim.store.large_intake import SimulatedLargeIntake
from tests.sim.store.rights import Rights

PARTS = (
    mutant(
        "parts commit by themselves",
        "Each part of a large group is there as soon as it was written, whatever becomes of the next.",
        (large_intake, "accept_part", "call write", "ready.write()"),
        needs="batch",
    ),
    mutant(
        "parts ask for no right",
        "A part is written by whoever owned the database when its group was begun.",
        (large_intake, "accept_part", "call require_intake", DROPPED),
        needs="batch takeover",
    ),
    mutant(
        "parts hold no right",
        "The right to write is looked at and not locked: another takes it before the commit.",
        (Rights, "hold", "if _holders", NEVER),
        needs="batch",
    ),
    mutant(
        "rows begin with the last part",
        "A backlog row says that its destination's work begins where a large group ends.",
        (
            large_intake,
            "parts_of",
            "tuple replace",
            "place, replace(bare, customers=group.customers, dirty=group.dirty)",
        ),
        needs="batch kill",
    ),
    mutant(
        "no answer is a commit",
        "A large group whose commit had no answer is taken for written.",
        (
            SimulatedLargeIntake,
            "_write_parts",
            "call run commit",
            "try:\n    HERE\nexcept Exception:\n    pass",
        ),
        needs="batch",
    ),
    mutant(
        "told before the parts are there",
        "Of a large group callers and actors are told a twentieth of a second before its commit.",
        (
            SimulatedLargeIntake,
            "_write_parts",
            "call run commit",
            "trio.lowlevel.current_clock().call_later(\n"
            "    0.05, lambda: [work() for work in into._writes]\n"
            ")",
        ),
        needs="batch",
    ),
)
HANDS = (
    mutant(
        "an entry beside a batch",
        "What is requeued or replayed draws its place while a large group of its environment is written.",
        (EntryQueue, "_first", "call isdisjoint", ALWAYS),
        needs="batch",
    ),
    mutant(
        "rows are forgotten beside a batch",
        "A backlog row is deleted while a large group of its environment is written.",
        (
            Intake,
            "_forget",
            "set _left_out",
            "barred = self._left_out = NO_ENVIRONMENTS",
        ),
        needs="batch passive",
    ),
    mutant(
        "a lock that is released unseen",
        "An intake is not told when what it waited for is free.",
        (EnvironmentLocks, "_rouse", "call _wake", DROPPED),
        needs="batch",
    ),
    mutant(
        "locks are forgotten",
        "An intake does not lock the environments that it writes for.",
        (
            EnvironmentLocks,
            "hold",
            "set _held",
            "self._held = NO_ENVIRONMENTS",
        ),
        needs="batch",
    ),
)
