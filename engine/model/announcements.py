"""The announcement of the service's own events, as other parts call it."""

from collections.abc import Mapping
from typing import Any, Protocol

PREFIX = "angarium."


class Announce(Protocol):
    """The entry of the service's own events."""

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None = None,
    ) -> None:
        """Announce an event of `event_type`, such as `angarium.replay.finished`, in an environment.

        `customer` is set where the event concerns a customer's destination. Never blocks, never raises.
        """


def silent(
    environment: int, event_type: str, payload: Mapping[str, Any], customer: str | None = None
) -> None:
    """Announce nothing, in a process without announcements."""
