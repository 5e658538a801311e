"""Two adjacent releases side by side, as in a rolling upgrade.

Both have the real handshake. The former release closes idle links without a goodbye. The next release
says goodbye, adds unknown fields to its handshake, and answers in chunks.
"""

import secrets
from enum import StrEnum
from random import Random

import orjson
import trio

from engine.peers.handshake import (
    MAGIC,
    NONCE,
    PROOF,
    Address,
    _exactly,
    _proof,
    dial,
)

KEYS = {b"key": b"k" * 32}
MORE = {"since": 2, "speaks": ["chunks"]}  # fields that a later release can add
UPGRADED = 0.3  # share of the first nodes that have the next release; 0.7 of later nodes have it


class Release(StrEnum):
    FORMER = "former"
    NEXT = "next"


def drawn(chance: Random, *, first: bool) -> Release:
    return Release.NEXT if (chance.random() < UPGRADED) == first else Release.FORMER


async def shake(release: Release, link: trio.abc.Stream, client: Address) -> None:
    """Open a link with a release's handshake. Raises LinkError."""
    if release is Release.FORMER:
        await dial(link, KEYS, client)
        return
    greeting = await _exactly(link, len(MAGIC) + NONCE)
    theirs, mine = greeting[len(MAGIC) :], secrets.token_bytes(NONCE)
    identifier, key = next(iter(KEYS.items()))
    said = orjson.dumps([identifier.hex(), *client, "connection", MORE])
    await link.send_all(
        len(said).to_bytes(2) + mine + _proof(key, b"dial", theirs, mine, said) + said
    )
    await _exactly(link, PROOF)


def written(release: Release | None, status: int, body: bytes) -> bytes:
    if release is not Release.NEXT:
        return b"HTTP/1.1 %d OK\r\ncontent-length: %d\r\n\r\n%b" % (status, len(body), body)
    chunk = b"%x\r\n%b\r\n" % (len(body), body) if body else b""
    head = b"HTTP/1.1 %d Done\r\nx-served-by: next\r\ntransfer-encoding: chunked\r\n\r\n" % status
    return head + chunk + b"0\r\n\r\n"
