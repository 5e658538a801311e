"""The book of disturbances, all of them: a class each, by what they strike."""

from tests.chaos.book import databases, disks, nodes, receivers, roads, servers, workers
from tests.chaos.book.disturbance import Disturbance

# Each is in the hands of somebody of their own, so that troubles of different kinds meet.
BOOKS: tuple[tuple[type[Disturbance], ...], ...] = (
    servers.BOOK,
    (*databases.BOOK, *disks.BOOK),
    roads.BOOK,
    receivers.BOOK,
)


def books(servers_count: int, workers_count: int = 1) -> tuple[tuple[type[Disturbance], ...], ...]:
    """Return the books for a round with so many servers, each with so many workers."""
    if workers_count > 1:
        return (workers.BOOK, *BOOKS[1:])
    return BOOKS if servers_count == 1 else (nodes.BOOK, *BOOKS[1:])
