"""All disturbances: a class for each kind."""

from tests.chaos.book import databases, disks, machines, nodes, receivers, roads, servers, workers
from tests.chaos.book.disturbance import Disturbance

# A book is a list of faults, such as all faults of the network. A round has a thread for each book, so
# faults of different books happen at the same time.
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
