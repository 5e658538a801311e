"""The book of disturbances, all of them: a class each, by what they strike."""

from tests.chaos.book import databases, disks, nodes, receivers, roads, servers
from tests.chaos.book.disturbance import Disturbance

# Each is in the hands of somebody of their own, so that troubles of different kinds meet.
BOOKS: tuple[tuple[type[Disturbance], ...], ...] = (
    servers.BOOK,
    (*databases.BOOK, *disks.BOOK),
    roads.BOOK,
    receivers.BOOK,
)


def books(servers_count: int) -> tuple[tuple[type[Disturbance], ...], ...]:
    """Return the books for a round with so many servers."""
    return BOOKS if servers_count == 1 else (nodes.BOOK, *BOOKS[1:])
