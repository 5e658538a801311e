"""All disturbances: a class for each kind."""

from tests.chaos.book import databases, disks, machines, nodes, receivers, roads, servers, workers
from tests.chaos.book.disturbance import Disturbance

# Each book has its own hand (a thread), so that faults of different kinds meet.
BOOKS: tuple[tuple[type[Disturbance], ...], ...] = (
    servers.BOOK,
    (*databases.BOOK, *disks.BOOK),
    roads.BOOK,
    receivers.BOOK,
)


def books(
    servers_count: int, workers_count: int = 1, parts: int = 1
) -> tuple[tuple[type[Disturbance], ...], ...]:
    if parts > 1:
        return (machines.BOOK, *BOOKS[1:])
    if workers_count > 1:
        return (workers.BOOK, *BOOKS[1:])
    return BOOKS if servers_count == 1 else (nodes.BOOK, *BOOKS[1:])
