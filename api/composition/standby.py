"""The standby: a server that waits while another server has the database.

It relays its clients' connections, observes the other nodes, and takes over when it is next.
"""

import socket
from typing import TYPE_CHECKING

import structlog
import trio

from api.cli.failures import ListenError
from api.door.listener import listening_sockets
from engine.model.setting_values import host_and_port
from engine.nodes.liveness import BEAT_S, is_successor
from engine.peers.acceptor import accept_links
from engine.peers.handshake import PURPOSE
from engine.peers.relay import Relay
from engine.ports.outage import Outage
from storage.database.errors import StoreError
from storage.encryption.secretbox import SecretBox
from storage.ownership import Takeover

if TYPE_CHECKING:
    from api.composition import Server

LEAVE_S = 1.0  # for the last statement of a server that ends

log = structlog.get_logger("angarium")


class Standby:
    """This server among others on one database. Unused if `peer_bind` is not set."""

    def __init__(self, server: "Server", box: SecretBox) -> None:
        self._server = server
        self._keys = box.derived(PURPOSE)
        self._relay = Relay(self._keys)
        self._outage = Outage("the table of nodes")
        self._active: str | None = ""  # as of the last look; "" before the first one

    async def wait_turn(self) -> Takeover:
        """Relay connections until this server has taken the database over; then the door serves them."""
        server = self._server
        listeners = self._opened()
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self._relay.run, listeners)
            taken = None
            while taken is None:
                taken = await self._outage.outlast(lambda _: self._look())
                await trio.sleep(0 if taken else BEAT_S)
            nursery.cancel_scope.cancel()
        server.door.inherit(listeners, self._relay.waiting)
        return taken

    async def _look(self) -> Takeover | None:
        """Send heartbeats, and take over when this server is next."""
        server = self._server
        active = await server.membership.stand_by()
        liveness = server.membership.liveness
        node = None if active is None else active.id
        if is_successor(liveness, node):
            return await server.ownership.succeed(server.upkeep, active)
        row = next((row for row in liveness.rows if row.id == node), None)
        self._relay.aim(node, None if row is None else row.address)
        if node != self._active:
            self._active = node
            name = None if row is None else row.name
            log.info("node.stood_by", node=server.ownership.process, active=node, name=name)
        return None

    def _opened(self) -> list[socket.socket]:
        settings, worker = self._server.settings, self._server.worker
        if worker is not None:
            return list(worker.listeners)
        try:
            return listening_sockets(*settings.address)
        except OSError as error:
            raise ListenError("bind", settings.bind, error) from error

    async def accept(self, task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED) -> None:
        """Serve the connections that standbys bring, until cancelled."""
        bind = self._server.settings.peer_bind
        assert bind is not None
        await accept_links(host_and_port(bind), self._keys, self._server.door.adopt, task_status)

    async def leave(self) -> None:
        """Release the database for another server at once."""
        try:
            with trio.move_on_after(LEAVE_S):
                await self._server.membership.leave()
        except StoreError as error:
            log.warning(
                "node.left_late", error=str(error), meaning="others notice within some seconds"
            )
