"""News of configuration: what a process wrote, told to the others by NOTIFY within its transaction.

PostgreSQL keeps nothing for who does not listen: after a lost connection everything is read anew.
"""

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
import trio

from storage.bridge import Bridge
from storage.connection import Connection
from storage.errors import StoreError
from storage.profiles import LISTENER

log = structlog.get_logger("angarium.storage")

CHANNEL = "angarium_changes"
# To be selected in the statement that writes; `{kind}` and `{id}` are its expressions.
NOTIFY = f"pg_notify('{CHANNEL}', json_build_object('kind', {{kind}}, 'id', {{id}})::text)"
CHECK_S = 1.0  # how often the connection is proved: a lost one is known after this and its timeout
MAX_WAITING = 10_000  # news that wait; past this the whole is read again, which is cheaper
# News that are handed on at once: whoever reads them waits for a turn among the commands; one by
# one they would never be done while somebody writes. More would keep the commands waiting.
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A row that was written: `kind` such as "destination", and its id."""

    kind: str
    id: str


async def notify(connection: Connection, kind: str, identifier: str) -> None:
    """Tell of a change; within a transaction it goes out with the commit, or not at all."""
    await connection.fetch(
        "SELECT " + NOTIFY.format(kind="$1::text", id="$2::text"), kind, identifier
    )


class Changes:
    """Listens, for as long as `run` runs. Owner: that task.

    `confirmed_at` is when the connection was last known to be there, in trio's time: what is in
    memory is as new as that. None until the first reload has ended.
    """

    def __init__(
        self,
        bridge: Bridge,
        on_changes: Callable[[Sequence[Change]], Awaitable[None]],
        on_lost: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_changes` takes news in their order, each row once; `on_lost` reads everything anew; it is
        called at the start and after each loss."""
        self._bridge = bridge
        self._on_changes = on_changes
        self._on_lost = on_lost
        self.confirmed_at: float | None = None
        self.reloaded = trio.Event()  # set when the first reload has ended
        self.losses = 0
        self.dropped = 0  # news that could not wait; each such time everything is read anew
        self._first: Change | None = None  # heard, and not handed on yet

    async def run(self) -> None:
        """Listen until cancelled. What the callbacks raise goes out, but for StoreError: a loss."""
        while True:
            connection = self._bridge.connection(LISTENER)
            try:
                await self._listen(connection)
            except StoreError as error:
                self.losses += 1
                log.warning("changes.lost", error=str(error))
            finally:
                with trio.CancelScope(shield=True):
                    await self._bridge.release(connection)
            await self._bridge.wait_until_back()

    async def _listen(self, connection: Connection) -> None:
        send, receive = trio.open_memory_channel[Change](MAX_WAITING)
        overrun = False

        def heard(payload: str) -> None:
            nonlocal overrun
            change = _parsed(payload)
            if change is not None:
                try:
                    send.send_nowait(change)
                except trio.WouldBlock:
                    overrun = True
                    self.dropped += 1

        await connection.listen(CHANNEL, heard)
        # Listening comes first: what is written while everything is read is heard as well.
        await self._on_lost()
        self.reloaded.set()
        with receive:
            while not overrun:
                asked_at = trio.current_time()
                await connection.fetch("SELECT 1")  # what was told before this is in the channel
                # No more than was there, or they who write without end would keep us from ever
                # confirming, and the gate closed to everybody.
                await self._take(receive)
                self.confirmed_at = asked_at
                if not receive.statistics().current_buffer_used:
                    with trio.move_on_after(CHECK_S):
                        self._first = await receive.receive()
        log.warning("changes.overrun", waiting=MAX_WAITING)

    async def _take(self, receive: trio.MemoryReceiveChannel[Change]) -> None:
        """Hand on what has been heard by now. What is read is the row as it is: once is enough."""
        waiting = receive.statistics().current_buffer_used
        heard = [receive.receive_nowait() for _ in range(waiting)]
        first, self._first = self._first, None
        news = list(dict.fromkeys([*([] if first is None else [first]), *heard]))
        for start in range(0, len(news), AT_ONCE):
            await self._on_changes(news[start : start + AT_ONCE])


def _parsed(payload: str) -> Change | None:
    try:
        fields = json.loads(payload)
        return Change(str(fields["kind"]), str(fields["id"]))
    except (ValueError, KeyError, TypeError):
        log.warning("changes.malformed", length=len(payload))
        return None
