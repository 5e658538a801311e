"""Notifications of configuration changes. A transaction that changes the configuration sends a NOTIFY
when it commits. The processes that listen receive the notification.
PostgreSQL keeps no notification for a process that is not listening.
"""

import json
import math
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass

import structlog
import trio

from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.errors import StoreError
from storage.database.profiles import LISTENER

log = structlog.get_logger("angarium.storage")

CHANNEL = "angarium_changes"
# The SQL call that announces a written row. `{kind}` and `{id}` are SQL expressions.
NOTIFY = f"pg_notify('{CHANNEL}', json_build_object('kind', {{kind}}, 'id', {{id}})::text)"
CHECK_S = 1.0  # between two checks of the connection
# The time between two checks while a caller of `catch_up` waits. A request with an unknown credential
# calls `catch_up`. Without this pause, a flood of such requests would keep PostgreSQL busy with checks.
HURRIED_CHECK_S = 0.05
MAX_WAITING = (
    10_000  # queued notifications; beyond this, reading the whole configuration is cheaper
)
# The most rows in one call of `on_changes`. `on_changes` and the commands of this process that change the
# configuration never run at the same time: they wait for each other. With one row per call, this process
# could not keep up with a busy writer. With more than 100 rows, the commands would wait too long.
AT_ONCE = 100


@dataclass(frozen=True, slots=True)
class Change:
    """A written row: its `kind`, such as "destination", and its id."""

    kind: str
    id: str


async def notify(connection: Connection, kind: str, identifier: str) -> None:
    """Send the notification of a change."""
    await connection.fetch(
        "SELECT " + NOTIFY.format(kind="$1::text", id="$2::text"), kind, identifier
    )


class _ListenLine:
    def __init__(self, connection: Connection) -> None:
        self.connection = connection
        self._send, self.receive = trio.open_memory_channel[Change](MAX_WAITING)
        self.dropped = 0

    def heard(self, payload: str) -> None:
        change = _parsed(payload)
        if change is not None:
            try:
                self._send.send_nowait(change)
            except trio.WouldBlock:
                self.dropped += 1


class Changes:
    """The listener for notifications, which keeps this process's configuration current. Owner: the task
    of `run`.

    `confirmed_at` is an instant on trio's clock. The configuration in memory has every change that was
    committed before `confirmed_at`. `confirmed_at` is None until the first check of the connection.
    """

    def __init__(
        self,
        bridge: Bridge,
        on_changes: Callable[[Sequence[Change]], Awaitable[None]],
        on_lost: Callable[[], Awaitable[None]],
    ) -> None:
        """`on_changes` gets the ids of changed rows in the order of their notifications, and must read
        these rows from the database in this order. `on_lost` must read the whole configuration. `on_lost`
        is called at the start, and after the connection or a notification was lost."""
        self._bridge = bridge
        self._on_changes = on_changes
        self._on_lost = on_lost
        self.confirmed_at: float | None = None
        self.reloaded = trio.Event()  # set when the first read of the whole configuration is done
        self.losses = 0
        self._line: _ListenLine | None = None
        self._dropped = 0  # by connections that are closed
        self._first: Change | None = None  # received by `_wait`, not yet passed to `on_changes`
        self._asked_at = -math.inf
        self._hurried = False
        self._nap = trio.CancelScope()
        self._confirmed = trio.Event()

    async def begin(self) -> None:
        """Listen, and read the whole configuration. Raises StoreError, and the errors of `on_lost`."""
        line = _ListenLine(self._bridge.connection(LISTENER))
        try:
            # Listen before reading, to receive notifications of rows that are written during the read.
            await line.connection.listen(CHANNEL, line.heard)
            await self._on_lost()
        except BaseException:
            await self._release(line)
            raise
        self._line = line
        self.reloaded.set()

    async def run(self, task_status: trio.TaskStatus[None] = trio.TASK_STATUS_IGNORED) -> None:
        """Listen until cancelled. After a StoreError, the connection counts as lost, and `run` listens on
        a new connection. Raises all other errors of the callbacks. Calls `task_status.started` when
        `confirmed_at` is first set."""
        started = False
        while True:
            try:
                if self._line is None:
                    await self.begin()
                while self._line is not None and not self._line.dropped:
                    await self._confirm(self._line)
                    if not started:
                        started = True
                        task_status.started()
                    await self._wait(self._line)
                log.warning("changes.overrun", waiting=MAX_WAITING)
            except StoreError as error:
                self.losses += 1
                log.warning("changes.lost", error=str(error))
            finally:
                line, self._line = self._line, None
                if line is not None:
                    self._dropped += line.dropped
                    await self._release(line)
            await self._bridge.wait_until_back()

    @property
    def dropped(self) -> int:
        """The number of notifications that were lost because the queue was full."""
        return self._dropped + (0 if self._line is None else self._line.dropped)

    async def _release(self, line: _ListenLine) -> None:
        with trio.CancelScope(shield=True):
            await self._bridge.release(line.connection)
        line.receive.close()

    async def catch_up(self) -> None:
        """Wait until the configuration in memory has every change that was committed before this call."""
        now = trio.current_time()
        while self.confirmed_at is None or self.confirmed_at < now:
            self._hurried = True
            self._nap.deadline = min(self._nap.deadline, self._asked_at + HURRIED_CHECK_S)
            await self._confirmed.wait()

    async def _confirm(self, line: _ListenLine) -> None:
        asked_at = self._asked_at = trio.current_time()
        self._hurried = False
        # PostgreSQL sends notifications and answers in order on this connection. After the answer to this
        # statement, the queue therefore has every notification that PostgreSQL sent before the answer.
        await line.connection.fetch("SELECT 1")
        # Take only the notifications that are in the queue now. If `_take` also took later notifications,
        # a process that writes without pause would keep `_take` busy for ever, and `confirmed_at` would
        # never advance.
        await self._take(line.receive)
        self.confirmed_at = asked_at
        self._confirmed.set()
        self._confirmed = trio.Event()

    async def _wait(self, line: _ListenLine) -> None:
        if not line.receive.statistics().current_buffer_used:
            check_s = HURRIED_CHECK_S if self._hurried else CHECK_S
            with trio.move_on_at(self._asked_at + check_s) as self._nap:
                self._first = await line.receive.receive()

    async def _take(self, receive: trio.MemoryReceiveChannel[Change]) -> None:
        """Give each changed row to `on_changes` once, even if several notifications name the row:
        `on_changes` reads the row's present state."""
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
