"""The routing log: at the log level `debug`, a line for each event with the destinations it goes to."""

import logging
from collections.abc import Callable

import structlog

from engine.submission.submission import Submission

NAME = "angarium.routing"
NAMED = 20  # destinations in a line

log = structlog.get_logger(NAME)

Submit = Callable[[Submission], None]


def logged(submit: Submit) -> Submit:
    """Return `submit`, which logs what it gets if the log level is `debug`."""
    return told(submit) if logging.getLogger(NAME).isEnabledFor(logging.DEBUG) else submit


def told(submit: Submit) -> Submit:
    """Return a `submit` that logs what it gets."""

    def tell(submission: Submission) -> None:
        to: dict[str, list[str]] = {event.id: [] for event in submission.events}
        for delivery in submission.deliveries:
            to[delivery.event.id].append(delivery.destination)
        for event in submission.events:
            destinations = to[event.id]
            log.debug(
                "event.routed",
                event_id=event.id,
                type=event.type,
                environment=event.environment,
                customer=event.customer,
                destinations=destinations[:NAMED],
                count=len(destinations),
            )
        submit(submission)

    return tell
