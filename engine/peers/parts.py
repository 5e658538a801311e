"""Links that carry clients' requests to the process that has a part. This process is on the same
machine or on another one.

A link between machines uses TLS if the other server's HTTP listener uses TLS. The link's handshake
states the digest of the other server's certificate, so no certificate authority is needed.
"""

import hashlib
import hmac
import ssl
from collections.abc import Callable, Mapping, Sequence

import trio

from engine.nodes.liveness import NodeRow
from engine.nodes.parts import WorkerPart
from engine.peers.acceptor import LocalLinks
from engine.peers.handshake import NO_TLS, REQUESTS, WITHIN_S, Address, LinkError, dial
from engine.peers.probes import probe


class SecuredLink(trio.abc.AsyncResource):
    """A link under TLS, with the methods of a socket's stream."""

    def __init__(self, stream: trio.SocketStream) -> None:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_3
        context.check_hostname = False  # `begin` compares the certificate's digest
        context.verify_mode = ssl.CERT_NONE
        context.set_alpn_protocols(["http/1.1"])
        self.socket = stream.socket
        self._stream = trio.SSLStream(stream, context, https_compatible=True)

    async def begin(self, digest: bytes) -> None:
        """Do the TLS handshake. Raises LinkError if the handshake fails, or if the other end's
        certificate does not have the digest `digest`."""
        try:
            with trio.fail_after(WITHIN_S):
                await self._stream.do_handshake()
        except trio.TooSlowError as error:
            raise LinkError("the other end does not answer in time") from error
        except trio.BrokenResourceError as error:
            raise LinkError("the connection broke") from error
        certificate = self._stream.getpeercert(binary_form=True)
        if not hmac.compare_digest(digest_of(certificate), digest):
            raise LinkError("the other end has another certificate than its handshake states")

    async def send_all(self, data: bytes) -> None:
        await self._stream.send_all(data)

    async def receive_some(self, max_bytes: int) -> bytes:
        return bytes(await self._stream.receive_some(max_bytes))

    async def aclose(self) -> None:
        """Close the connection without the closing message of TLS. This message is not needed, because an
        HTTP message marks its own end."""
        await trio.aclose_forcefully(self._stream)


def digest_of(certificate: bytes) -> bytes:
    """Return the digest of a certificate in DER, in the form that links use."""
    return hashlib.sha256(certificate).digest()


Link = trio.SocketStream | SecuredLink


class PartLinks:
    """The links to all parts. Owner of `states`: the process's trio thread.

    `rows` returns the rows of all nodes, as this process last read them.
    """

    def __init__(
        self,
        local: LocalLinks,
        rows: Callable[[], Sequence[NodeRow]],
        machine: str,
        parts: int,
        keys: Mapping[bytes, bytes],
    ) -> None:
        self._local = local
        self._rows = rows
        self._machine = machine
        self._parts = parts
        self._keys = keys
        self.states: dict[str, bool] = {}  # by node id: True if the node answered the last link
        self._seen: Sequence[NodeRow] | None = None  # the rows of the last call of `moved`
        self._held: dict[int, str] = {}  # the holder of each part in these rows

    def holder(self, number: int) -> NodeRow | None:
        """Return the node that has a part."""
        part = WorkerPart(number, self._parts)
        return next((row for row in self._rows() if row.active and row.part == part), None)

    def moved(self) -> list[int]:
        """Return the parts whose holder has changed since the last call."""
        rows = self._rows()
        if rows is self._seen:
            return []
        self._seen = rows
        held = {
            row.part.number: row.id for row in rows if row.active and row.part.of == self._parts
        }
        moved = [part for part, node in self._held.items() if held.get(part, node) != node]
        self._held |= held
        known = {row.id for row in rows}
        for gone in self.states.keys() - known:
            del self.states[gone]
        return moved

    async def dial(self, number: int, client: Address) -> Link:
        """Open a link to the process that has a part, for a client's requests. Raises OSError."""
        row = self.holder(number)
        if row is None:
            raise ConnectionRefusedError("no server has the workspace's part at present")
        try:
            link = await self._reached(row, client)
        except OSError:
            self.states[row.id] = False
            raise
        self.states[row.id] = True
        return link

    async def _reached(self, row: NodeRow, client: Address) -> Link:
        if row.machine == self._machine:
            try:
                return await self._local.dial(row.part.number, client)
            except OSError:  # or another machine has the same name
                if row.address is None:
                    raise
        if row.address is None:
            raise ConnectionRefusedError("the part's server has no address for other servers")
        return await self._dialled(row.address, client)

    async def _dialled(self, address: str, client: Address) -> Link:
        host, _, port = address.rpartition(":")
        stream = await trio.open_tcp_stream(host.strip("[]"), int(port))
        probe(stream.socket)
        try:
            digest = await dial(stream, self._keys, client, kind=REQUESTS)
            if digest == NO_TLS:
                return stream
            link = SecuredLink(stream)
            await link.begin(digest)
        except LinkError as error:
            await trio.aclose_forcefully(stream)
            raise ConnectionError(str(error)) from error
        except BaseException:
            await trio.aclose_forcefully(stream)
            raise
        return link
