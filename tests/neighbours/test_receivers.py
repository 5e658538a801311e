"""Receivers whose answers never end. Each answer is read up to a limit, and then its connection is
closed."""

from functools import partial

import trio
from trio.testing import wait_all_tasks_blocked

from tests.api.house import Caller
from tests.patience import HANGS_S
from tests.service.house import destination, post
from tests.service.receiver import Receiver

PIECE = b"x" * 65_536
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"  # the body ends with the connection
CROWD = 16
# At most this many bytes of one answer can be sent. An attempt reads some of them, and the buffers of
# both sockets hold the rest.
MOST = 16 << 20


async def test_answers_without_end_are_read_to_a_bound(
    api: Caller, neighbour: Caller, receiver: Receiver
) -> None:
    sent: list[int] = []

    async def pour(stream: trio.SocketStream) -> None:
        count = 0
        try:
            await stream.receive_some()
            await stream.send_all(HEAD)
            while count < 4 * MOST:
                await stream.send_all(PIECE)
                count += len(PIECE)
        except trio.BrokenResourceError:
            pass
        sent.append(count)

    async with trio.open_nursery() as nursery:
        (listener,) = await nursery.start(partial(trio.serve_tcp, pour, 0, host="127.0.0.1"))
        port = listener.socket.getsockname()[1]
        for number in range(CROWD):
            await destination(
                api, f"http://127.0.0.1:{port}/{number}", ["pours"], delivery={"retrySchedule": []}
            )
        await destination(neighbour, receiver.url(), ["fine"])
        await post(api, "pours")
        await post(neighbour, "fine")
        with trio.fail_after(HANGS_S):
            await receiver.reaches(1)
            while len(sent) < CROWD:
                await wait_all_tasks_blocked(0.001)
        nursery.cancel_scope.cancel()
    assert max(sent) <= MOST
