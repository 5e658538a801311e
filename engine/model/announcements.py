"""The interface through which parts of the engine announce the service's own events."""

from collections.abc import Mapping
from typing import Any, Protocol


class Announce(Protocol):
    """A function that announces the service's own events."""

    def __call__(
        self,
        environment: int,
        event_type: str,
        payload: Mapping[str, Any],
        customer: str | None = None,
    ) -> None:
        """Announce an event of `event_type`, such as `angarium.replay.finished`, in an environment.

        `customer`: the customer whose destination the event concerns. Never blocks, never raises.
        """


def silent(
    environment: int, event_type: str, payload: Mapping[str, Any], customer: str | None = None
) -> None:
    """Do nothing, in a process without announcements."""
