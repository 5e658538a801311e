"""The handshake of a link. Both ends prove that they have the same master key, and the dialler
states its client's address.

The acceptor sends MAGIC and a nonce. The dialler answers with its own nonce, the id of its key, the
client's address and a proof. The acceptor's proof ends the handshake. From then on, the link carries
the client's connection, byte by byte.

Links of two other kinds carry no client's connection. The dialler of such a link also sends the kind,
after the address.

A link of the kind REQUESTS carries single requests, which the dialler forwards for clients. Before
the acceptor sends its proof, it sends the digest of its TLS certificate, or zeros if the acceptor has
no TLS. If the acceptor has TLS, the TLS handshake follows.

A link of the kind ENDING comes from a standby that stops. The standby relays clients' connections to
the acceptor over other links. The acceptor ignores the address in the handshake. After the handshake,
the standby sends the addresses of all these clients. The acceptor closes each client's connection after
the next answer on it.
"""

import hmac
import secrets
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import NamedTuple

import orjson
import trio

MAGIC = b"ANGARIUM LINK 1\n"
PURPOSE = b"angarium peer link 1"  # for the derivation from the master keys
NONCE = 32
PROOF = 32
DIGEST = 32  # of a certificate, by SHA-256
NO_TLS = bytes(DIGEST)
REQUESTS, ENDING = "requests", "ending"  # the kinds of links, beside a client's connection
MOST = 1024  # bytes of the dialler's message
# Enough for the addresses of all clients that a standby can have.
MOST_ADDRESSES = 128 * 1024
WITHIN_S = 2.0  # for the whole handshake, on either side

Address = tuple[str, int]


class Caller(NamedTuple):
    """The client's address and the link's kind, as a link's dialler has sent them. `kind` is None if the
    link carries a client's connection."""

    address: Address
    kind: str | None = None


class LinkError(Exception):
    """The link cannot be used: for example, the other end does not answer, or does not prove that it has
    the master key."""


async def dial(
    stream: trio.abc.Stream,
    keys: Mapping[bytes, bytes],
    client: Address,
    *,
    kind: str | None = None,
) -> bytes:
    """Do the dialler's part of the handshake. Raise LinkError if the handshake fails.

    `kind` is None if the link is to carry a client's connection. `keys` has the master keys by their
    ids, the present key first. If TLS follows, the result is the digest of the other end's certificate.
    Otherwise the result is NO_TLS.

    Use REQUESTS only if the other end's release knows this kind. ENDING can be used with every release.
    On an ENDING link, the dialler sends the addresses of clients after the handshake, and the acceptor
    closes these clients' connections. An acceptor of an older release takes the link for a client's
    connection, and the addresses for a malformed HTTP request. It then refuses this request, and closes
    none of the connections.
    """
    with _within():
        greeting = await _exactly(stream, len(MAGIC) + NONCE)
        if not greeting.startswith(MAGIC):
            raise LinkError("the other end is not an Angarium server of this release")
        theirs, mine = greeting[len(MAGIC) :], secrets.token_bytes(NONCE)
        identifier, key = next(iter(keys.items()))
        said = orjson.dumps([identifier.hex(), *client, *(() if kind is None else (kind,))])
        proof = _proof(key, b"dial", theirs, mine, said)
        await stream.send_all(len(said).to_bytes(2) + mine + proof + said)
        digest = await _exactly(stream, DIGEST) if kind == REQUESTS else b""
        answer = await _exactly(stream, PROOF)
        if not hmac.compare_digest(answer, _proof(key, b"accept", mine, theirs, said + digest)):
            raise LinkError("the other end does not have this server's master key")
        return digest or NO_TLS


async def accept(
    stream: trio.abc.Stream, keys: Mapping[bytes, bytes], digest: bytes = NO_TLS
) -> Caller:
    """Do the acceptor's part of the handshake. Return the client's address and the link's kind, which the
    dialler has sent. Raise LinkError if the handshake fails.

    `digest`: the digest of this end's certificate, or NO_TLS. Only REQUESTS links need it.
    """
    with _within():
        mine = secrets.token_bytes(NONCE)
        await stream.send_all(MAGIC + mine)
        head = await _exactly(stream, 2 + NONCE + PROOF)
        size, theirs, proof = int.from_bytes(head[:2]), head[2 : 2 + NONCE], head[2 + NONCE :]
        if size > MOST:
            raise LinkError("the other end sent too much")
        said = await _exactly(stream, size)
        key = keys.get(_key_id(said))
        if key is None or not hmac.compare_digest(proof, _proof(key, b"dial", mine, theirs, said)):
            raise LinkError("the other end does not have this server's master key")
        _, host, port, *kind = orjson.loads(said)
        answer = digest if kind[:1] == [REQUESTS] else b""  # a later release can send more fields
        await stream.send_all(answer + _proof(key, b"accept", theirs, mine, said + answer))
        return Caller((str(host), int(port)), next(iter(kind), None))


async def send_addresses(stream: trio.abc.HalfCloseableStream, clients: Iterable[Address]) -> None:
    """Send the client addresses of the connections that a stopping standby carries. Raise LinkError."""
    with _within():
        await stream.send_all(orjson.dumps(list(clients)))
        await stream.send_eof()


async def receive_addresses(stream: trio.abc.ReceiveStream) -> set[Address]:
    """Return the addresses that a stopping standby sends. Raises LinkError."""
    data = bytearray()
    with _within():
        while piece := await stream.receive_some():
            data += piece
            if len(data) > MOST_ADDRESSES:
                raise LinkError("the other end sent too many addresses")
    try:
        return {(str(host), int(port)) for host, port in orjson.loads(data)}
    except (ValueError, TypeError) as error:
        raise LinkError("the other end sent invalid addresses") from error


def _key_id(said: bytes) -> bytes:
    try:
        return bytes.fromhex(orjson.loads(said)[0])
    except (ValueError, TypeError, LookupError) as error:
        raise LinkError("the other end sent an invalid address") from error


def _proof(key: bytes, side: bytes, first: bytes, second: bytes, said: bytes) -> bytes:
    return hmac.digest(key, b"%b %b%b%b" % (side, first, second, said), "sha256")


async def _exactly(stream: trio.abc.Stream, size: int) -> bytes:
    """Read exactly `size` bytes, and not more: later bytes do not belong to the handshake."""
    data = b""
    while len(data) < size:
        piece = await stream.receive_some(size - len(data))
        if not piece:
            raise LinkError("the other end closed the link")
        data += piece
    return data


@contextmanager
def _within() -> Iterator[None]:
    try:
        with trio.fail_after(WITHIN_S):
            yield
    except trio.TooSlowError as error:
        raise LinkError("the other end does not answer in time") from error
    except (trio.BrokenResourceError, trio.ClosedResourceError) as error:
        raise LinkError("the connection broke") from error
