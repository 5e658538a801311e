"""This server among others on one database: it stands by for its part, takes it over, and hands it over.

As a standby it relays its clients' connections, observes the other nodes, and takes over when it is next.
"""

import socket
from functools import partial
from typing import TYPE_CHECKING

import structlog
import trio

from api.cli.failures import ListenError
from api.door.listener import listening_sockets
from engine.model.setting_values import host_and_port
from engine.nodes.liveness import (
    BEAT_S,
    Active,
    NameTakenError,
    NodeState,
    is_successor,
    namesake,
)
from engine.nodes.placement import MoveWatch, belongs_on
from engine.peers.acceptor import accept_links
from engine.peers.handshake import NO_TLS, PURPOSE
from engine.peers.relay import Relay
from engine.ports.outage import Outage
from storage.database.errors import StoreError
from storage.encryption.secretbox import SecretBox
from storage.ownership import Takeover

if TYPE_CHECKING:
    from api.composition import Server

LEAVE_S = 1.0  # for the last statement of a server that ends
PART_S = (
    2.0  # for requests on relayed connections of a server that ends, as for requests at the door
)
SOON_S = 0.1  # between two looks at a part that is about to come here

log = structlog.get_logger("angarium")


class Standby:
    """This server among others on one database. Unused if `peer_bind` is not set."""

    def __init__(self, server: "Server", box: SecretBox) -> None:
        self._server = server
        self._keys = box.derived(PURPOSE)
        self._relay = Relay(self._keys)
        self._outage = Outage("the table of nodes")
        self._active: str | None = ""  # as of the last look; "" before the first one
        self._pause_s = BEAT_S
        self.handed_over = False  # its part, in order, because that belongs on another machine

    async def wait_turn(self) -> Takeover:
        """Relay connections until this server has taken its part over; then the door serves them."""
        server = self._server
        listeners = self._opened()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._relay.run, listeners)
            taken = None
            while taken is None:
                taken = await self._outage.outlast(lambda _: self._look())
                await trio.sleep(0 if taken else self._pause_s)
            nursery.cancel_scope.cancel()
        server.door.inherit(listeners, self._relay.waiting)
        return taken

    async def _look(self) -> Takeover | None:
        """Send heartbeats, and take over when this server is next. Raises NameTakenError: two machines
        with one name were started at once."""
        server = self._server
        active = await server.membership.stand_by()
        liveness, part = server.membership.liveness, server.part
        other = namesake(liveness)
        if other is not None:
            raise NameTakenError(other.machine, other.address)
        node = None if active is None else active.id
        machine = belongs_on(liveness, part.number, part.of)
        if is_successor(liveness, node, self._candidates(node, machine)):
            taken = await server.ownership.succeed(server.upkeep, active)
            if taken is not None:
                self._relay.leave(node)
            return taken
        self._pause_s = SOON_S if machine == server.membership.machine else BEAT_S
        self._steer(active)
        return None

    def _candidates(self, active: str | None, machine: str | None) -> frozenset[str]:
        """Return the nodes that can take this part over: those of the machine that it belongs on, or all
        where that machine has none."""
        membership, part = self._server.membership, self._server.part
        live = [
            row for row in membership.liveness.live_rows() if row.part == part and row.id != active
        ]
        there = frozenset(row.id for row in live if row.machine == machine)
        return there or frozenset(row.id for row in live)

    def _steer(self, active: Active | None) -> None:
        """Let the relay carry its clients to the node that has the part, or to any other that works.
        Where a process of this machine works, that one has the machine's clients."""
        membership = self._server.membership
        liveness = membership.liveness
        working = [row for row in liveness.rows if row.active]
        here = membership.machine
        self._relay.rest(
            any(
                row.machine == here and row.part.of > 1 and liveness.state(row.id) is NodeState.LIVE
                for row in working
            )
        )
        node = None if active is None else active.id
        row = next((row for row in working if row.id == node), None)
        if row is None and not self._server.part.whole:
            row = min((row for row in working if row.address), key=lambda row: row.id, default=None)
        self._relay.aim(node if row is None else row.id, None if row is None else row.address)
        if node != self._active:
            self._active = node
            log.info(
                "node.stood_by",
                node=membership.id,
                part=self._server.part.number,
                active=node,
                name=None if row is None else row.name,
            )

    def _opened(self) -> list[socket.socket]:
        settings, worker = self._server.settings, self._server.worker
        if worker is not None:
            return list(worker.listeners)
        try:
            return listening_sockets(*settings.address)
        except OSError as error:
            raise ListenError("bind", settings.bind, error) from error

    # --- while the part is here

    async def accept(self, task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the connections that standbys bring, and the requests of this part that come to other
        machines, until cancelled."""
        bind, door = self._server.settings.peer_bind, self._server.door
        assert bind is not None
        await accept_links(
            host_and_port(bind),
            self._keys,
            door.adopt,
            partial(door.adopt_link, remote=True),
            self._digest,
            task_status,
        )

    def _digest(self) -> bytes:
        certificate = self._server.door.certificate
        return NO_TLS if certificate is None else certificate.digest

    async def watch_placement(self) -> None:
        """Hand the part over once it belongs on another machine. Never returns."""
        server = self._server
        watch = MoveWatch(server.membership.machine)
        while True:
            await trio.sleep(BEAT_S)
            if server.door.elsewhere is not None:
                server.door.elsewhere.refresh()
            machine = belongs_on(server.membership.liveness, server.part.number, server.part.of)
            if watch.leaves(machine) and not server.stopping:
                log.info("part.handed_over", part=server.part.number, machine=machine)
                self.handed_over = True
                await server.hand_over()

    async def carry(self) -> None:
        """Carry the relayed connections, also those that came before this server took its part over."""
        await self._relay.carry()

    def part(self) -> None:
        """Begin to close the relayed connections, each once its request is answered."""
        self._relay.part()

    async def leave(self) -> None:
        """Release the part for another server at once, and close the relayed connections."""
        try:
            with trio.move_on_after(LEAVE_S):
                await self._server.membership.leave()
        except StoreError as error:
            log.warning(
                "node.left_late", error=str(error), meaning="others notice within some seconds"
            )
        with trio.move_on_after(PART_S):
            await self._relay.wait_parted()
