"""One writer: once a process has taken over the database from another, nothing that the former owner does
is recorded. If several nodes each own a part, each node does only the work of its own part."""

from collections.abc import Iterator

from tests.sim.oracle.sight import Sight


def judge(sight: Sight) -> Iterator[str]:
    if len(sight.processes) < 2:
        return
    for rows in sight.attempts.values():
        for row in rows:
            makers = sight.maker(row)
            ends = [(each.end, sight.processes[each.arrived.process]) for each in makers]
            if ends and all(end > process.over_at for end, process in ends):
                yield (
                    f"attempt {row.number} of delivery {row.delivery} is recorded, by process "
                    f"{ends[0][1].number}, which had lost the database when it ended"
                )
    for request in sight.requests:
        process = sight.processes.get(request.by)
        if request.answer != "accepted" or process is None:
            continue
        if request.posted.at > process.over_at:
            yield (
                f"request {request.posted.request} was accepted by process {process.number}, "
                f"which had lost the database"
            )
        if not process.has(request.posted.environment):
            yield (
                f"request {request.posted.request} was accepted by process {process.number}, "
                f"which does not have environment {request.posted.environment}"
            )
    for sending in sight.sendings:
        delivery = sight.deliveries.get(sending.arrived.delivery)
        process = sight.processes[sending.arrived.process]
        if delivery is not None and not process.has(delivery.environment):
            yield f"delivery {delivery.id} was sent by process {process.number}, of another part"
