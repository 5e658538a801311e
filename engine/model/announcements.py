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
        """Announce `event_type` (such as `angarium.replay.finished`) in an environment, for a customer
        where it concerns one's destination. Never blocks, never raises."""


def silent(
    environment: int, event_type: str, payload: Mapping[str, Any], customer: str | None = None
) -> None:
    """Announce nothing: where no one listens."""
