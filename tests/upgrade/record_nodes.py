"""A program that records how a release's nodes work together: the bytes that a node sends over a link,
and the SQL statements on the tables of nodes and leases.

Run the program in the release's source tree: `python .../record_nodes.py > .../releases/NAME.nodes.json`.
"""

import json
import secrets
import sys
from pathlib import Path
from typing import Any

import trio
import trio.testing

KEY_ID, KEY, DIGEST = b"key", b"k" * 32, b"d" * 32
CLIENT = ("2001:db8::7", 4711)
NONCE = b"n" * 32  # for both ends
KINDS = (None, "requests")


class Heard(trio.abc.Stream):
    """A stream that records the sent bytes."""

    def __init__(self, stream: trio.abc.Stream) -> None:
        self._stream = stream
        self.sent = b""

    async def send_all(self, data: bytes | bytearray | memoryview) -> None:
        self.sent += data
        await self._stream.send_all(data)

    async def wait_send_all_might_not_block(self) -> None:
        await self._stream.wait_send_all_might_not_block()

    async def receive_some(self, max_bytes: int | None = None) -> bytes | bytearray:
        return await self._stream.receive_some(max_bytes)

    async def aclose(self) -> None:
        await self._stream.aclose()


async def shaken(kind: str | None) -> dict[str, Any]:
    from engine.peers.handshake import accept, dial

    one, other = map(Heard, trio.testing.memory_stream_pair())
    async with trio.open_nursery() as nursery:
        nursery.start_soon(accept, other, {KEY_ID: KEY}, DIGEST)
        await dial(one, {KEY_ID: KEY}, CLIENT, kind=kind)
    return {"kind": kind, "dialler": one.sent.hex(), "acceptor": other.sent.hex()}


def statements() -> dict[str, str]:
    from storage import ownership
    from storage.nodes import membership

    found = {
        f"{module.__name__}.{name}": value
        for module in (membership, ownership)
        for name, value in vars(module).items()
        if isinstance(value, str)
        and value.split(None, 1)[:1] in (["SELECT"], ["INSERT"], ["UPDATE"], ["DELETE"], ["WITH"])
    }
    intake = ownership.INTAKE_OWNER.format(process="$1", epoch="$2")
    settle = ownership.SETTLE_OWNER.format(process="$1", epoch="$2", shards="$3")
    return found | {
        name: f"WITH {each} SELECT FROM owner"
        for name, each in (("intake", intake), ("settle", settle))
    }


if __name__ == "__main__":
    sys.path.insert(0, str(Path.cwd()))
    secrets.token_bytes = lambda _: NONCE  # type: ignore[assignment,misc]  # the same bytes each time
    links = [trio.run(shaken, kind) for kind in KINDS]
    json.dump({"links": links, "statements": statements()}, sys.stdout, indent=1)
