"""The succession: the decision which standby takes over from an active node that is dead. It is pure."""

from engine.nodes.liveness import Liveness, NodeState


def is_successor(liveness: Liveness, active: str | None) -> bool:
    """Return whether this node is the one to take over. `active` None: no node has the database.

    Every standby sees the same nodes soon, and the one with the smallest id goes first. Where two of them
    try, the takeover itself decides: it names the node that it succeeds.
    """
    if active is not None and liveness.state(active) is not NodeState.DEAD:
        return False
    return liveness.me == min(liveness.live() - {active})
