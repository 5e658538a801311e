"""An attempt under way: the sender's callback and, once it ended, the message about it."""

from typing import Protocol

from msgspec import Struct

from engine.core.records import Delivery, Outcome


class Departed(Protocol):
    """Who sent it and hears of its end."""

    def attempt_ended(self, flight: "Flight") -> None:
        """Learn that an outcome is there."""


class Flight(Struct, gc=False):
    """One attempt. Called with its outcome, the first time only."""

    actor: Departed
    delivery: Delivery
    number: int
    outcome: Outcome | None = None

    def __call__(self, outcome: Outcome) -> None:
        """Take the outcome; a second one is ignored."""
        if self.outcome is None:
            self.outcome = outcome
            self.actor.attempt_ended(self)

    def rewind(self) -> None:
        """Undo what a judgement did to the delivery, so that it can be judged anew."""
        self.delivery.attempt_count = self.number - 1
