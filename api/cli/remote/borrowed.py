"""A destination that is borrowed while a command runs: made with its rule, archived at the end."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from angarium import Client

ABOUT = "made by `angarium listen`, which archives it when it ends"
# Seconds after failed attempts: whoever watches waits no five minutes.
RETRIES = [1, 5, 30]


class Borrowed(NamedTuple):
    """A borrowed destination and what verifies its requests."""

    id: str
    secret: str


def borrow(open_client: Callable[[], "Client"], url: str, patterns: Sequence[str]) -> Borrowed:
    """Make a destination for these event types. Raises AngariumError; then nothing is left."""
    from angarium import AngariumError

    with open_client() as client:
        made = client.destinations.create(
            f"listen {url}", url, description=ABOUT, delivery={"retrySchedule": RETRIES}
        )
        borrowed = Borrowed(made["id"], made["secret"] or "")
        try:
            client.routing_rules.create("listen", borrowed.id, list(patterns))
        except AngariumError:
            client.destinations.archive(borrowed.id)
            raise
    return borrowed


def give_back(open_client: Callable[[], "Client"], borrowed: Borrowed) -> None:
    """Archive it, which deletes its rule. Raises AngariumError."""
    with open_client() as client:
        client.destinations.archive(borrowed.id)
