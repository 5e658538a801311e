"""Draws docs/states.md from the tables of the core: `python -m tests.core.diagrams` writes it."""

from pathlib import Path

from engine.actors import lifecycle
from engine.core import circuit, read_state, reader, verdict
from engine.core.health import CircuitState
from engine.core.vocabulary import DeliveryStatus

PATH = Path(__file__).parents[2] / "docs" / "states.md"
HEAD = """# States

This page is for contributors: the states of deliveries, circuits, backlogs and actors. `python
-m tests.core.diagrams` draws it from the tables that the code runs by (`TRANSITIONS` in
`engine/core/verdict.py`, `engine/core/circuit.py`, `engine/core/read_state.py` and
`engine/actors/lifecycle.py`). A test checks that it is current.

## A delivery

No row stores DELIVERING: readers see it for a delivery whose attempt is in flight. A transition that is
not drawn cannot happen; an actor that meets one crashes.

"""
CIRCUIT_HEAD = """
## A destination's circuit

A circuit opens after {failures} consecutive failures of at least {deliveries} deliveries. TRANSFORM and
INTERNAL failures do not count, and they do not interrupt the sequence. An open circuit sends only a
probe, which is the next eligible delivery. The pauses before the probes are {waits} s. After a restart,
a HALF_OPEN circuit is OPEN.

"""
READ_HEAD = """
## The reading of a destination's backlog

One read is under way at a time (READING). If the destination is archived meanwhile, its waiting
deliveries leave memory, and the answer of the read is dropped too (VOID). After a failed read, the reader
rests for {rest} s. If memory has no room for the deliveries of an answer, the reader is STARVED until
some of the destination's deliveries have left memory.

"""
ACTOR_HEAD = """
## A destination's actor

A FRESH actor has nothing unsettled in the store. BACKING_OFF and RESTARTING actors have dropped their
state machine, but attempts that the machine began, and their outcomes, can still be under way. The
health report shows both states as RESTARTING, and FRESH as STARTING.

"""


def words(name: str) -> str:
    return name.lower().replace("_", " ")


def delivery_diagram() -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> PENDING: accepted"]
    for (state, signal), end in verdict.TRANSITIONS.items():
        if end is not None:
            suffix = "" if end.dlq is None else f" ({end.dlq.name})"
            lines.append(f"    {state.name} --> {end.status.name}: {words(signal.name)}{suffix}")
    ends = [DeliveryStatus.DELIVERED, DeliveryStatus.DRY_RUN, DeliveryStatus.FAILED]
    lines += [f"    {state.name} --> [*]" for state in ends]
    return [*lines, "```"]


def circuit_diagram() -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {CircuitState.CLOSED.name}"]
    for (state, signal), end in circuit.TRANSITIONS.items():
        if end is not None:
            lines.append(f"    {state.name} --> {end.name}: {words(signal.name)}")
    return [*lines, "```"]


def read_diagram() -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", f"    [*] --> {read_state.ReadState.IDLE.name}"]
    for (state, signal), after in read_state.TRANSITIONS.items():
        if after is not None:
            lines.append(f"    {state.name} --> {after.name}: {words(signal.name)}")
    return [*lines, "```"]


def actor_diagram() -> list[str]:
    lines = ["```mermaid", "stateDiagram-v2", "    [*] --> FRESH", "    [*] --> STARTING"]
    for (state, signal), after in lifecycle.TRANSITIONS.items():
        if after is not None:
            lines.append(f"    {state.name} --> {after.name}: {words(signal.name)}")
    return [*lines, f"    {lifecycle.ActorState.RETIRED.name} --> [*]", "```"]


def document() -> str:
    waits = ", ".join(f"{circuit.probe_delay_s(k):g}" for k in range(7))
    head = CIRCUIT_HEAD.format(
        failures=circuit.FAILURES_TO_OPEN, deliveries=circuit.DELIVERIES_TO_OPEN, waits=waits
    )
    parts = [
        HEAD, delivery_diagram(), head, circuit_diagram(),
        READ_HEAD.format(rest=f"{reader.RETRY_READ_S:g}"), read_diagram(), ACTOR_HEAD, actor_diagram(),
    ]  # fmt: skip
    return "".join(part if isinstance(part, str) else "\n".join(part) + "\n" for part in parts)


if __name__ == "__main__":
    PATH.write_text(document())
