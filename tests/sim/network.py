"""The network between a process and its receivers. Receivers verify signatures with their own code.

A request that has left can arrive even if its process has died.
"""

import base64
import binascii
import hashlib
import hmac
import re
from collections.abc import Callable
from typing import TYPE_CHECKING

from engine.core.records import Outcome
from engine.core.vocabulary import ErrorCategory
from engine.outbound.sender import UNAUTHORIZED
from engine.ports import Transmission
from engine.wire.body import outbound_body
from engine.wire.failure import judge
from engine.wire.head import WebhookHead
from tests.sim.receivers import Receivers, Reception
from tests.sim.trace import Arrived, Replied, TokenRefused

if TYPE_CHECKING:
    from tests.sim.process import Process
    from tests.sim.world import World

LONGEST_WAY_S = 0.03
# The time after a rotation of the signing key in which a process may not know the new key yet. Requests
# of such a process lack the new key's signature.
UNHEARD_S = 60.0
GRACE_S = 23 * 3600.0  # a rotated-out key must sign for at least this time
_MARK = re.compile(rb'"mark": ?"([^"]*)"')


class Flight:
    """One request on its way, and the way back of its answer."""

    __slots__ = ("_attempt", "_began", "_delivery", "_done", "_network", "_number", "_process",
                 "_request", "_started_at", "_target", "_timeout_s", "_token", "_waited_s",
                 "arrived", "ended", "lost")  # fmt: skip

    def __init__(
        self,
        network: "Network",
        process: "Process",
        transmission: Transmission,
        request: bytes,
        done: Callable[[Outcome], None],
        waited_s: float,
    ) -> None:
        self._network = network
        self._process = process
        self._target = transmission.destination
        self._timeout_s = transmission.destination.timeout_ms / 1000
        self._request = request
        self._token = dict(transmission.headers).get(b"authorization", b"").decode()
        self._waited_s = waited_s
        self._done = done
        self._began = process.clock.instant()
        self._started_at = process.clock.at(self._began)
        self._delivery, self._attempt = transmission.delivery.id, transmission.number
        self._number = 0  # of the request, once its receiver has taken it
        self.arrived = self.ended = self.lost = False

    def arrive(self) -> None:
        network, process = self._network, self._process
        if self.lost or self.ended:
            return
        self.arrived = True
        world = network.world
        attempt = self._process.number, self._delivery, self._attempt
        if network.receivers.refuses(self._target, self._token, attempt):
            world.later(network.way_s(), lambda: self.reply(Reception(0.0, UNAUTHORIZED)))
            return
        self._number = network.next_number()
        head, _, body = self._request.partition(b"\r\n\r\n")
        fields = {
            name.decode(): value.decode()
            for name, _, value in (line.partition(b": ") for line in head.split(b"\r\n")[1:])
        }
        found = _MARK.search(body)
        world.tell(
            Arrived,
            self._number,
            process.number,
            self._target.id,
            fields["angarium-delivery-id"],
            fields["webhook-id"],
            "" if found is None else found[1].decode(),
            hashlib.sha256(body).hexdigest()[:16],
            int(fields["angarium-attempt"]),
            network.genuine(self._target.id, fields, body),
            self._token,
            self._waited_s,
        )
        reception = network.receivers.receive(self._target, fields["angarium-delivery-id"])
        wait_s = reception.after_s + network.way_s()
        if wait_s >= self._timeout_s:
            late = Reception(self._timeout_s, None, timed_out=True)
            world.later(self._timeout_s, lambda: self.reply(late))
        else:
            world.later(wait_s, lambda: self.reply(reception))

    def reply(self, reception: Reception) -> None:
        process = self._process
        if self.ended:
            return
        if process.stalled and not process.dead:
            process.held.append(lambda: self.reply(reception))
            return
        self.ended = True
        network = self._network
        network.flights.pop(self, None)
        heard = not (process.dead or process.cut)
        if self._number:
            fields = self._number, reception.status, heard, reception.retry_after_s
            network.world.tell(Replied, *fields)
        else:
            attempt = process.number, self._target.id, self._delivery, self._attempt
            network.world.tell(TokenRefused, *attempt, self._token, heard)
        if heard:
            try:
                self._done(self._outcome(reception))
            except Exception as error:  # a barrier, as around a socket's `ready`
                network.world.report(error)

    def _outcome(self, reception: Reception) -> Outcome:
        duration_ms = int((self._process.clock.instant() - self._began) * 1000 + 0.5)
        if reception.status is None:
            timed_out = reception.timed_out
            return Outcome(
                started_at=self._started_at,
                duration_ms=duration_ms,
                success=False,
                category=ErrorCategory.TIMEOUT if timed_out else ErrorCategory.CONNECTION,
                message="no complete answer" if timed_out else "the connection was lost",
            )
        category, message = judge(reception.status)
        return Outcome(
            started_at=self._started_at,
            duration_ms=duration_ms,
            success=category is None,
            status=reception.status,
            category=category,
            message=message,
            retry_after_s=reception.retry_after_s,
        )

    def die(self, *, lost: bool) -> None:
        """`lost`: the request had not left yet."""
        if not self.arrived:
            self.lost = lost
            if lost:
                self._network.flights.pop(self, None)


class Network:
    """Owner of the requests that are on their way."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.receivers = Receivers(world)
        self.flights: dict[Flight, Process] = {}
        self._chance = world.chance("network")
        self._heads: dict[tuple[int, str, int], WebhookHead] = {}
        self._numbers = 0

    def next_number(self) -> int:
        self._numbers += 1
        return self._numbers

    def way_s(self) -> float:
        return self._chance.random() * LONGEST_WAY_S

    def send(
        self,
        process: "Process",
        transmission: Transmission,
        done: Callable[[Outcome], None],
        waited_s: float,
    ) -> None:
        """`waited_s`: how long the attempt has waited for its token."""
        if process.dead:
            return
        destination, event = transmission.destination, transmission.delivery.event
        place = process.number, destination.id, destination.version
        head = self._heads.get(place)
        if head is None:
            head = self._heads[place] = WebhookHead(destination)
        body = transmission.body or event.body or outbound_body(event)
        request = head.request(transmission.delivery, transmission.number, body, process.wall())
        flight = Flight(self, process, transmission, request, done, waited_s)
        self.flights[flight] = process
        self.world.later(self.way_s(), flight.arrive)
        process.faults.count("send", process)

    def died(self, process: "Process") -> None:
        """End the requests of a process that has died. About half of them have not left yet and are
        lost."""
        for flight in [each for each, owner in self.flights.items() if owner is process]:
            flight.die(lost=self._chance.random() < 0.5)

    def genuine(self, destination: str, fields: dict[str, str], body: bytes) -> bool:
        """Return True if a request has the required signatures. The present key must have signed it. For
        `GRACE_S` after a rotation, the former key must have signed it too. But for `UNHEARD_S` after a
        rotation, the sender may not know the present key, so the former key's signature alone is enough.
        """
        keys, now = self.world.keys[destination], self.world.now()
        signed = f"{fields['webhook-id']}.{fields['webhook-timestamp']}.".encode() + body
        given = [
            binascii.a2b_base64(each.removeprefix("v1,"))
            for each in fields["webhook-signature"].split(" ")
            if each.startswith("v1,")
        ]

        def by(key: bytes) -> bool:
            return hmac.digest(key, signed, hashlib.sha256) in given

        current = len(keys) - 1
        if by(keys[current][1]):
            before = keys[current - 1] if current else None
            young = now - keys[current][0] < GRACE_S and not self.world.clocks_jump
            return before is None or not young or by(before[1])
        while current and now - keys[current][0] < UNHEARD_S:
            current -= 1
            if by(keys[current][1]):
                return True
        return False


def secret_of(key: bytes) -> str:
    return "whsec_" + base64.b64encode(key).decode()
