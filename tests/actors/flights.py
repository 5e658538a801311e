"""Attempts under way, for tests of the parts that count them."""

from msgspec import structs

from engine.actors.mailbox import Departed, Flight
from tests.core.making import a_delivery


class Heard:
    """A `Departed` that keeps each flight whose outcome it gets."""

    def __init__(self) -> None:
        self.flights: list[Flight] = []

    def attempt_ended(self, flight: Flight) -> None:
        self.flights.append(flight)


def a_flight(delivery: str, environment: int = 1, actor: Departed | None = None) -> Flight:
    made = a_delivery(1)
    event = structs.replace(made.event, environment=environment)
    return Flight(actor or Heard(), structs.replace(made, id=delivery, event=event), 1)
