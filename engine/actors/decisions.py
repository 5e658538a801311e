"""A destination's state machine that logs its decisions (attempts, retry times, lanes, holds) at
`debug`."""

import logging

import structlog

from engine.core.commands import Commands
from engine.core.health import Hold
from engine.core.machine import DestinationMachine
from engine.core.vocabulary import DeliveryStatus
from engine.model.instants import iso
from engine.model.trace import log_fields

NAME = "angarium.decisions"

log = structlog.get_logger(NAME)


class LoggedMachine(DestinationMachine):
    _hold: Hold | None = None

    def commands(self, now: float, may_send: int) -> Commands:
        commands = super().commands(now, may_send)
        for settlement in commands.settle:
            retry, category = settlement.next_attempt_at, settlement.error_category
            log.debug(
                "delivery.decided",
                delivery=settlement.delivery.id,
                destination=self.config.id,
                status=settlement.status.name,
                attempt=None if settlement.attempt is None else settlement.attempt.number,
                error_category=None if category is None else category.name,
                retry_at=None if retry is None else iso(int(retry * 1000)),
                lane=settlement.delivery.lane,
                lane_blocked=settlement.status is DeliveryStatus.RETRYING
                and settlement.delivery.lane is not None,
                **log_fields(settlement.delivery.event.trace),
            )
        for delivery in commands.send:
            log.debug(
                "delivery.sent",
                delivery=delivery.id,
                destination=self.config.id,
                attempt=delivery.attempt_count + 1,
                lane=delivery.lane,
                **log_fields(delivery.event.trace),
            )
        hold = self.health(now).hold
        if hold != self._hold:
            self._hold = hold
            until = None if hold is None or hold.until is None else iso(int(hold.until * 1000))
            log.debug(
                "destination.held" if hold else "destination.released",
                destination=self.config.id,
                name=self.config.name,
                reason=None if hold is None else hold.reason.name,
                until=until,
                waiting=self.pending,
            )
        return commands


def machine_class() -> type[DestinationMachine]:
    """Return the class of state machines for the present log level."""
    logged = logging.getLogger(NAME).isEnabledFor(logging.DEBUG)
    return LoggedMachine if logged else DestinationMachine
