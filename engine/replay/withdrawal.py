"""The withdrawal of what a cancelled job has enqueued and nobody attempted. Nothing here awaits."""

import structlog

from engine.actors.mailbox import Ordered
from engine.core.orders import Order
from engine.replay.ports import ReplayActors
from engine.replay.queued import QueuedReplays

log = structlog.get_logger("angarium.replay")


def withdraw(job: str, queued: QueuedReplays, actors: ReplayActors) -> None:
    """Have the actors cancel a job's queued replays, except those whose attempt is under way."""
    for destination, ids in queued.of_job(job).items():
        flying = actors.delivering(ids)
        left = tuple(each for each in ids if each not in flying)
        if left:
            log.info("replay.withdrawn", job=job, destination=destination, count=len(left))
            actors.tell(destination, Ordered(Order.CANCEL, left))
