"""Requests: each belongs to a delivery, is signed, and has the same body as the delivery's other
requests. Two requests of a delivery have the same attempt number only if the first attempt was not
recorded."""

from collections import defaultdict
from collections.abc import Iterator

from tests.sim.oracle.crashes import condemned
from tests.sim.oracle.sight import Sending, Sight


def judge(sight: Sight) -> Iterator[str]:
    for sending in sight.sendings:
        yield from _one(sight, sending)
    for delivery, sendings in sight.of_delivery.items():
        bodies = {each.arrived.body for each in sendings}
        if len(bodies) > 1:
            yield f"delivery {delivery} came with {len(bodies)} different bodies"
        yield from _repeated(sight, delivery, sendings)


def _one(sight: Sight, sending: Sending) -> Iterator[str]:
    arrived = sending.arrived
    row = sight.deliveries.get(arrived.delivery)
    name = f"sending {arrived.send} of delivery {arrived.delivery}"
    if row is None:
        yield f"{name}: there is no such delivery"
        return
    if row.destination != arrived.destination:
        yield f"{name} came to {arrived.destination} instead of {row.destination}"
    if row.event != arrived.event:
        yield f"{name} came with the id of event {arrived.event} instead of {row.event}"
    event = sight.events.get(row.event)
    if event is not None and arrived.mark != event.mark:
        yield f"{name} came with the payload {arrived.mark!r} instead of {event.mark!r}"
    if not arrived.signed:
        yield f"{name} was not signed by a secret that was valid"


def _repeated(sight: Sight, delivery: str, sendings: list[Sending]) -> Iterator[str]:
    by_number: dict[int, list[Sending]] = defaultdict(list)
    for sending in sendings:
        by_number[sending.arrived.number].append(sending)
    recorded = {row.number: row for row in sight.attempts.get(delivery, [])}
    for number, same in by_number.items():
        if len(same) == 1:
            continue
        makers: dict[int, Sending] = {}
        twice = False
        for each in sorted(same, key=lambda each: each.index):
            before = makers.get(each.arrived.process)
            if before is not None and not condemned(sight, before, each.at):
                twice = True
            makers[each.arrived.process] = each
        if twice:
            yield f"delivery {delivery} was sent twice as attempt {number} by one process"
        row = recorded.get(number)
        if row is None:
            continue
        # The maker is the process whose attempt was recorded. A process that began before the maker was
        # ready can be a predecessor of the maker: it can have sent the attempt first, without recording
        # it. A process that began after the maker was ready is a successor of the maker. A successor has
        # read the maker's record, so it must not repeat the attempt.
        ready = [sight.processes[each.arrived.process].ready_at for each in sight.maker(row)]
        late = [
            each
            for each in same
            if ready and sight.processes[each.arrived.process].booted_at > max(ready)
        ]
        if late:
            yield (
                f"delivery {delivery} was sent as attempt {number} by process "
                f"{late[0].arrived.process}, although it was recorded before"
            )
