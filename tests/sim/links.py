"""Links between nodes. A link carries a request to the node that works for the request's workspace, and
carries the answer back.

The relay is the real `api.door.request_relay`. Bytes arrive in order, late or never. If a link breaks,
the bytes on their way are lost.
"""

from collections import deque
from contextlib import suppress
from functools import partial
from socket import AF_UNIX
from typing import TYPE_CHECKING, cast

import trio

from api.door.link_form import GOODBYE
from engine.peers.handshake import LinkError, accept
from tests.sim.releases import KEYS, Release, drawn, shake, written
from tests.sim.trace import Fault

if TYPE_CHECKING:
    from tests.sim.door import Client
    from tests.sim.process import Process
    from tests.sim.world import World

WAY_S = (0.0, 0.0002, 0.0002, 0.001)  # seconds that bytes take without a fault
LATE_S = (0.01, 0.05, 0.4, 2.5)
LATE_SHARE = 0.1  # share of sends that are late, if the plan has link faults
BREAK_SHARE = 0.04  # share of sends that break the link then; half of these bytes are lost
LOOK_S = 0.05  # between two looks at a stalled node
PIECE = 65_536
RESTS_S = (0.01, 0.1, 1.0)  # idle times after which a node closes a link
TROUBLE = frozenset({"links", "cut", "freeze", "stall"})  # without these a handshake succeeds


class End:
    """One end of a link: the part of `trio.SocketStream` that a relay and a node's server use."""

    def __init__(self, link: "Link", process: "Process") -> None:
        self.process = process
        self.other: End
        self.last_at = 0.0  # when the last byte from the other end arrives
        self.on_the_way: deque[bytes | None] = deque()  # sent by the other end; None: its end
        self.unread = 0  # bytes that this end has not read
        self.busy = self.parted = False  # it serves a request; it takes no more requests
        self.served = 0  # requests
        self.link = link
        self._come = bytearray()
        self._ended = self._closed = False
        self._news = trio.Event()

    @property
    def socket(self) -> "End":
        """This end itself, in place of a socket."""
        return self

    @property
    def family(self) -> int:
        """The family of a link between two workers of a machine."""
        return AF_UNIX

    def is_readable(self) -> bool:
        return bool(self._come) or self._ended

    def shutdown(self, how: int) -> None:
        """End the link at both ends at once, as a socket between two workers of one machine does."""
        del how
        self._closed = True
        self.other.come(None)

    def close(self) -> None:
        if not self._closed:
            self._closed = True
            self.link.send(self, None)

    async def aclose(self) -> None:
        self.close()
        await trio.lowlevel.checkpoint()

    async def send_all(self, data: bytes) -> None:
        """Raises BrokenResourceError if the link has ended."""
        await self.process.awake()
        if self._closed or self._ended:
            raise trio.BrokenResourceError("the link has ended")
        self.other.unread += len(data)
        self.link.send(self, bytes(data))
        await trio.lowlevel.checkpoint()

    async def receive_some(self, most: int) -> bytes:
        while True:
            await self.process.awake()
            if self._come:
                data = bytes(self._come[:most])
                del self._come[:most]
                if self.link.far is self and self._ended and not self._come:
                    # The node that sent the request has given up and closed the link. In this case, the
                    # real `LinkTransport` raises.
                    raise trio.BrokenResourceError("the link was closed behind the request")
                self.unread -= len(data)
                return data
            if self._ended or self._closed:
                return b""
            self._news = trio.Event()
            await self._news.wait()

    def come(self, data: bytes | None) -> None:
        """None: no more bytes will come."""
        if data is None:
            self._ended = True
        elif not self._ended:
            self._come += data
        self._news.set()


class Link:
    """A connection between two nodes. Owner: the world, which moves its bytes."""

    def __init__(self, links: "Links", near: "Process", far: "Process") -> None:
        self._links = links
        self._lost = False  # a cut will break the link, so its bytes are lost
        self.near, self.far = End(self, near), End(self, far)
        self.near.other, self.far.other = self.far, self.near

    def send(self, end: End, data: bytes | None) -> None:
        links, to = self._links, end.other
        now = trio.current_time()
        to.last_at = max(now + links.way_s(), to.last_at)
        breaks = data is not None and links.breaks()
        if breaks == "before":
            data = None
        to.on_the_way.append(data)
        links.world.later(to.last_at - now, partial(self._deliver, to))
        if breaks:
            links.world.later(to.last_at - now, self.break_off)

    def _deliver(self, to: End) -> None:
        """A cut delays the bytes, or loses them and breaks the link."""
        if self._lost:
            return
        left_s = self._links.cut_s(to.process, to.other.process)
        if not left_s:
            to.come(to.on_the_way.popleft())
        elif self._links.chance.random() < 0.5:
            self._lost = True
            self._links.world.later(left_s, self.break_off)
        else:
            self._links.world.later(left_s, partial(self._deliver, to))

    def break_off(self) -> None:
        for end in (self.near, self.far):
            end.come(None)


class Links:
    """Owner of the links, and of the cuts between nodes."""

    def __init__(self, world: "World") -> None:
        self.world = world
        self.chance = world.chance("links")
        self._links: list[Link] = []
        self._cut_until: dict[frozenset[int], float] = {}
        self.clients: dict[int, Client] = {}  # by request; their work and results are not bytes

    # --- the way of bytes

    def way_s(self) -> float:
        way_s = self.chance.choice(WAY_S)
        if self._troubled and self.chance.random() < LATE_SHARE:
            way_s += self.chance.choice(LATE_S) * self.chance.random()
        return way_s

    def breaks(self) -> str:
        """Choose at random whether sent bytes break the link: `before` they arrive, `after` that, or not
        at all ("")."""
        if not self._troubled or self.chance.random() >= BREAK_SHARE:
            return ""
        self.world.tell(Fault, "link")
        return self.chance.choice(("before", "after"))

    def release(self) -> Release | None:
        """None: all nodes have the same release."""
        if not self.world.plan.releases:
            return None
        first = len(self.world.processes) < self.world.plan.nodes
        return drawn(self.world.chance("releases"), first=first)

    @property
    def _troubled(self) -> bool:
        return "links" in self.world.plan.faults and not self.world.calm

    def cut(self, one: "Process", other: "Process", lasts_s: float) -> None:
        pair = frozenset({one.number, other.number})
        self._cut_until[pair] = max(self._cut_until.get(pair, 0.0), trio.current_time() + lasts_s)
        self.world.tell(Fault, "cut", f"{one.number} {other.number}", lasts_s)

    def cut_s(self, one: "Process", other: "Process") -> float:
        until = self._cut_until.get(frozenset({one.number, other.number}), 0.0)
        return 0.0 if self.world.calm else max(0.0, until - trio.current_time())

    # --- the nodes

    async def dial(self, near: "Process", number: int) -> trio.SocketStream:
        """Open a link to the node of a part. Raises OSError."""
        await near.awake()
        far = self._node(near, number)
        await trio.sleep(self.way_s())
        if far is None or not far.ready:
            raise ConnectionRefusedError("no node of this part listens")
        # The handshake waits while the node stalls or is cut off.
        while (left_s := self.cut_s(near, far)) or far.stalled:  # noqa: ASYNC110 - nobody tells
            await trio.sleep(left_s or LOOK_S)
        if far.dead or self.breaks():
            raise ConnectionResetError("the link broke during its handshake")
        link = Link(self, near, far)
        try:
            far.background.spawn(self._serve, link.far)
        except RuntimeError:  # the node is ending by itself: its connections close
            raise ConnectionResetError("the node is ending") from None
        self._links.append(link)
        if near.release is not None:
            await self._shake(link, near.release)
        return cast(trio.SocketStream, link.near)

    async def _shake(self, link: Link, release: Release) -> None:
        """Raises ConnectionError."""
        near, far = link.near.process, link.far.process
        try:
            await shake(release, cast(trio.abc.Stream, link.near), ("203.0.113.1", 40_000))
        except (LinkError, trio.BrokenResourceError) as error:
            undisturbed = not self.world.plan.faults & TROUBLE
            if undisturbed and far.ready and not (near.dead or far.dead):
                self.world.report(error)
            link.near.close()
            raise ConnectionResetError("the handshake failed") from error

    def part(self, process: "Process") -> None:
        """Close the idle links of a node that ends in order."""
        if process.release is None:
            return
        for link in self._links:
            if link.far.process is process:
                self._rest(link.far, link.far.served)

    def _rest(self, end: End, served: int) -> None:
        """Close a link if it is idle and has served no request since this check was planned. `served` is
        the number of requests that the link had served when the check was planned."""
        process = end.process
        idle = not (process.dead or end.busy or end.parted or end.is_readable())
        if idle and end.served == served:
            end.parted = True
            if process.release is Release.NEXT:
                end.link.send(end, GOODBYE)
            end.close()

    def _node(self, near: "Process", number: int) -> "Process | None":
        nodes = [
            each
            for each in self.world.processes
            if each.group == near.group and each.part.number == number and not each.dead
        ]
        return nodes[-1] if nodes else None

    def died(self, process: "Process") -> None:
        """Bytes that the ended process sent can still arrive."""
        for link in [
            each for each in self._links if process in (each.near.process, each.far.process)
        ]:
            self._links.remove(link)
            for end in (link.near, link.far):
                if end.process is process:
                    end.close()

    async def _serve(self, end: End) -> None:
        come = b""
        release = end.process.release
        with suppress(trio.BrokenResourceError, LinkError):
            if release is not None:
                await self._accept(end)
            while data := await end.receive_some(PIECE):
                if end.parted:
                    return None  # the other node got a goodbye, or sees the end of the link
                end.busy = True
                come += data
                while (found := _split(come)) is not None:
                    request, body, come = found
                    answer = await end.process.door.answer(self.clients[request], body)
                    if answer is None:
                        return end.close()
                    await end.send_all(written(release, *answer))
                    end.served += 1
                    if release is not None and end.process.stopping:
                        return end.close()
                end.busy = bool(come)
                if release is not None and not end.busy:
                    rest_s = self.world.chance("releases").choice(RESTS_S)
                    self.world.later(rest_s, partial(self._rest, end, end.served))
        return end.close()

    async def _accept(self, end: End) -> None:
        """Raises LinkError."""
        end.busy = True
        try:
            await accept(cast(trio.abc.Stream, end), KEYS)
        except ValueError as error:
            self.world.report(error)  # it came whole, and was not understood
            raise LinkError("the handshake is not understood") from error
        end.busy = False


def unread(link: trio.SocketStream) -> int:
    """Return the number of bytes that the other end has not read."""
    return cast(End, link).other.unread


def _split(come: bytes) -> tuple[int, bytes, bytes] | None:
    """Split the bytes of one or more requests. Return the id and the body of the first request, and the
    bytes after it. Return None if not even the first request is complete."""
    head, whole, rest = come.partition(b"\r\n\r\n")
    if not whole:
        return None
    fields = dict(line.split(b": ", 1) for line in head.split(b"\r\n")[1:])
    length = int(fields[b"content-length"])
    if len(rest) < length:
        return None
    return int(fields[b"x-request-id"]), rest[:length], rest[length:]
