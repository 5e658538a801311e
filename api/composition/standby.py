"""The standby role of a server on a shared database.

While a standby waits, it relays its clients' connections to the active node. A machine is a computer on
which such servers run.
"""

import socket
from collections.abc import Awaitable, Callable, Sequence
from functools import partial

import structlog
import trio

from api.composition.failures import ListenError
from api.composition.foundation import Foundation
from api.door.front import FrontDoor
from api.door.listener import listening_sockets
from engine.model.setting_values import host_and_port
from engine.nodes.liveness import (
    BEAT_S,
    SOON_S,
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

HEIR_S = BEAT_S / 2  # between two checks of a standby whose machine would get the part next
LEAVE_S = 1.0  # for the last statement of a stopping server
PART_S = 2.0  # for requests on relayed connections of a stopping server, as at the door

log = structlog.get_logger("angarium")


class Standby:
    """The standby role of one server with `peer_bind`."""

    def __init__(self, base: Foundation, door: FrontDoor, box: SecretBox) -> None:
        self._base = base
        self._door = door
        self._keys = box.derived(PURPOSE)
        self.relay = Relay(self._keys)
        self._outage = Outage("the table of nodes")
        # "" before the first check.
        self._active: str | None = ""
        self._pause_s = BEAT_S

    async def wait_turn(self) -> Takeover:
        """Relay connections until this server has taken its part over."""
        listeners = self._opened()
        try:
            taken = await self._relayed(listeners)
        except BaseException:
            # Close the listeners, so that new clients connect to another node. Connections that the relay
            # already serves stay open for a moment longer.
            for sock in (*listeners, *(client for client, _ in self.relay.waiting)):
                sock.close()
            raise
        self._door.inherit(listeners, self.relay.waiting)
        return taken

    async def _relayed(self, listeners: Sequence[socket.socket]) -> Takeover:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(self.relay.run, listeners)
            taken = None
            while taken is None:
                taken = await self._outage.outlast(lambda _: self._look())
                await trio.sleep(0 if taken else self._pause_s)
            nursery.cancel_scope.cancel()
        return taken

    async def _look(self) -> Takeover | None:
        """Take the part over if this node is the successor; otherwise aim the relay at the active node.
        Raises NameTakenError if two machines with the same name were started at once."""
        base = self._base
        active = await base.membership.stand_by()
        liveness, part = base.membership.liveness, base.part
        other = namesake(liveness)
        if other is not None:
            raise NameTakenError(other.machine, other.address)
        node = None if active is None else active.id
        machine = belongs_on(liveness, part.number, part.of)
        if is_successor(liveness, node, self._candidates(node, machine)):
            taken = await base.ownership.succeed(base.upkeep, active)
            if taken is not None:
                # `former`: the node that died; None if it handed the part over.
                log.info("part.taken_over", part=part.number, former=node)
                self.relay.leave(node)
            return taken
        self._pause_s = liveness.pause_s
        here = base.membership.machine
        if machine == here:
            self._pause_s = SOON_S
        elif belongs_on(liveness, part.number, part.of, without=machine) == here:
            self._pause_s = min(HEIR_S, self._pause_s)
        self._steer(active)
        return None

    def _candidates(self, active: str | None, machine: str | None) -> frozenset[str]:
        """Return the candidates: the standbys of this part that are not dead, without two kinds of
        standbys.

        - A standby that started after the active node's last heartbeat notices the active node's death
          later than the others. Such standbys are left out, unless all standbys are of this kind.
        - If any of the remaining standbys run on `machine`, the standbys on other machines are left out.
        """
        liveness, part = self._base.membership.liveness, self._base.part
        live = [row for row in liveness.live_rows() if row.part == part and row.id != active]
        live = [row for row in live if liveness.outlives(row.id, active)] or live
        there = frozenset(row.id for row in live if row.machine == machine)
        return there or frozenset(row.id for row in live)

    def _steer(self, active: Active | None) -> None:
        """Aim the relay at an active node. While an active node runs on this machine, the relay accepts
        no connections, because that node has the same listeners."""
        membership = self._base.membership
        liveness = membership.liveness
        working = [row for row in liveness.rows if row.active]
        here = membership.machine
        self.relay.rest(
            any(
                row.machine == here and row.part.of > 1 and liveness.state(row.id) is NodeState.LIVE
                for row in working
            )
        )
        node = None if active is None else active.id
        row = next((row for row in working if row.id == node), None)
        if row is None and not self._base.part.whole:
            row = min((row for row in working if row.address), key=lambda row: row.id, default=None)
        self.relay.aim(node if row is None else row.id, None if row is None else row.address)
        if node != self._active:
            self._active = node
            log.info(
                "node.stood_by",
                node=membership.id,
                part=self._base.part.number,
                active=node,
                name=None if row is None else row.name,
            )

    def _opened(self) -> list[socket.socket]:
        settings, worker = self._base.settings, self._base.worker
        if worker is not None:
            return list(worker.listeners)
        try:
            return listening_sockets(*settings.address)
        except OSError as error:
            raise ListenError("bind", settings.bind, error) from error

    # --- while this server has the part

    async def accept(self, task_status: trio.TaskStatus[object] = trio.TASK_STATUS_IGNORED) -> None:
        """Accept links from other servers. Over these links, standbys relay clients' connections, and
        other machines forward requests for the workspaces of this server's part."""
        bind, door = self._base.settings.peer_bind, self._door
        assert bind is not None
        await accept_links(
            host_and_port(bind),
            self._keys,
            door.adopt,
            partial(door.adopt_link, remote=True),
            self._digest,
            door.end_soon,
            task_status,
        )

    def _digest(self) -> bytes:
        certificate = self._door.certificate
        return NO_TLS if certificate is None else certificate.digest

    async def watch_placement(self, hand_over: Callable[[str | None], Awaitable[None]]) -> None:
        """Hand this server's part over whenever the placement assigns the part to another machine. Never
        returns."""
        membership, part = self._base.membership, self._base.part
        watch = MoveWatch(membership.machine)
        while True:
            await trio.sleep(BEAT_S)
            if self._door.request_relay is not None:
                self._door.request_relay.refresh()
            machine = belongs_on(membership.liveness, part.number, part.of)
            if watch.leaves(machine):
                await hand_over(machine)

    async def leave(self) -> None:
        """Release the part, so that another server need not wait for this node's death, and close the
        relayed connections."""
        try:
            with trio.move_on_after(LEAVE_S):
                await self._base.membership.leave()
        except StoreError as error:
            log.warning(
                "node.left_late", error=str(error), meaning="other nodes notice within some seconds"
            )
        with trio.move_on_after(PART_S):
            await self.relay.wait_parted()
