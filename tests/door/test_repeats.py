"""Requests whose worker is killed. Such a request is served again if serving it twice has the same effect
as serving it once."""

import socket

import pytest
import trio
import trio.testing

from api.door.link_form import GOODBYE
from api.door.request_relay import TRIES
from engine.ingest.ingest import Reply
from tests.door.house import EVENT, MANAGE, Client, post
from tests.door.test_request_relay import Pair, open_pair

KEYED = EVENT[:-1] + b',"idempotencyKey":"k"}'
REPEATED = {
    "a keyed event": post(body=KEYED),
    "a keyed head": post().replace(b"\r\n\r\n", b"\r\nidempotency-key: k\r\n\r\n", 1),
    "a keyed batch": post(b"/events/batch", b'{"events":[%b,%b]}' % (KEYED, KEYED)),
}
TORN = {
    "no key": post(),
    "a key of one event only": post(b"/events/batch", b'{"events":[%b,%b]}' % (KEYED, EVENT)),
    "no JSON": post(body=KEYED[:-1]),
}


async def reached(pair: Pair) -> socket.socket:
    """Wait until the near worker has sent a request to the far worker. Return the far end of their link.

    The far worker does not read this link, so the request still waits there.
    """
    while not pair.frozen:
        await trio.testing.wait_all_tasks_blocked()
    (theirs,) = pair.frozen
    await trio.lowlevel.wait_readable(theirs)
    return theirs


async def broken_off(pair: Pair, request: bytes) -> Client:
    pair.far.ingest.hold = True
    client = await pair.near.connect()
    await client.send(request)
    await pair.far.ingest.wait_waiting()
    for link in pair.links:
        link.shutdown(socket.SHUT_RDWR)
    return client


@pytest.mark.parametrize("request_", REPEATED.values(), ids=REPEATED)
async def test_a_request_with_a_key_is_served_again_when_the_link_breaks(request_: bytes) -> None:
    async with open_pair() as pair:
        client = await broken_off(pair, request_)
        await pair.far.ingest.wait_waiting(2)
        pair.far.ingest.answer()
        assert (await client.response()).status == 202
        assert pair.dialled == 2
        first, second = pair.far.ingest.bodies
        assert first == second


@pytest.mark.parametrize("request_", TORN.values(), ids=TORN)
async def test_a_request_that_could_have_two_effects_is_not_served_again(request_: bytes) -> None:
    async with open_pair() as pair:
        client = await broken_off(pair, request_)
        assert (await client.response()).status == 500
        assert pair.dialled == 1
        pair.far.ingest.answer()


@pytest.mark.parametrize("method", ["POST", "HEAD"])
async def test_a_farewell_right_behind_an_answer_is_no_answer(method: str) -> None:
    """A worker that ends sends GOODBYE on the link. The worker at the other end can receive the last
    answer and GOODBYE in one piece. It must not take GOODBYE for a part of the answer."""
    answer = b"HTTP/1.1 202 Accepted\r\ncontent-length: 2\r\n\r\n"
    request = post() if method == "POST" else post(b"/x", b"").replace(b"POST", b"HEAD", 1)
    async with open_pair() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(request)
        with await reached(pair) as theirs:
            theirs.recv(1 << 16)
            theirs.sendall(answer + (b"{}" if method == "POST" else b"") + GOODBYE)
            told = await client.response(head_only=method == "HEAD")
            assert (told.status, told.body) == (202, b"" if method == "HEAD" else b"{}")
            assert pair.dialled == 1, "it is not sent again"
            pair.frozen = None
            assert (await pair.near.ask(post())).status == 202
            assert pair.dialled == 2, "the link is not used again"


@pytest.mark.parametrize("method", ["PUT", "PATCH", "DELETE", "POST"])
async def test_the_outcome_of_a_change_that_was_read_is_unknown(method: str) -> None:
    async with open_pair() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post(b"/destinations/x").replace(b"POST", method.encode(), 1))
        theirs = await reached(pair)
        theirs.recv(1 << 16)
        theirs.close()
        answer = await client.response()
        assert answer.status == 500, "a 503 would promise that nothing was done"
        assert b"the outcome is unknown" in answer.body
        assert "retry-after" not in answer.headers
        assert pair.dialled == 1


async def test_the_fate_stays_unknown_when_no_worker_serves_the_request_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.door.request_relay.AFRESH_S", 0.01)
    async with open_pair() as pair:
        pair.far.ingest.hold = True
        client = await pair.near.connect()
        await client.send(REPEATED["a keyed event"])
        await pair.far.ingest.wait_waiting()
        pair.absent = True
        for link in pair.links:
            link.shutdown(socket.SHUT_RDWR)
        assert (await client.response()).status == 500
        pair.far.ingest.answer()


@pytest.mark.parametrize("status", [429, 503])
async def test_a_refusal_does_not_tell_the_fate_of_a_request_sent_before(status: int) -> None:
    """The first try may have stored the event, or may still do so."""
    async with open_pair() as pair:
        client = await broken_off(pair, REPEATED["a keyed event"])
        await pair.far.ingest.wait_waiting(2)
        pair.far.ingest.hold = False
        pair.far.ingest.reply = Reply(status, b"{}")
        pair.far.ingest.answer()
        answer = await client.response()
        assert answer.status == 500
        assert b"the outcome is unknown" in answer.body
        assert pair.dialled == len(TRIES), "a later try could have got the answer"


async def test_a_request_that_was_refused_when_it_was_repeated_is_sent_again() -> None:
    async with open_pair() as pair:
        client = await broken_off(pair, REPEATED["a keyed event"])
        await pair.far.ingest.wait_waiting(2)
        pair.far.ingest.hold = False
        pair.far.ingest.answer(Reply(503, b"{}"))
        assert (await client.response()).status == 202


async def test_a_read_that_no_worker_serves_again_is_told_with_503(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.door.request_relay.AFRESH_S", 0.01)
    async with open_pair() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(
            b"GET /events/x HTTP/1.1\r\nhost: a\r\nauthorization: Bearer %b\r\n\r\n" % MANAGE
        )
        theirs = await reached(pair)
        theirs.recv(1 << 16)
        pair.absent = True
        theirs.close()
        answer = await client.response()
        assert (answer.status, answer.headers["retry-after"]) == (503, "1")


async def test_a_request_that_a_killed_worker_had_not_read_is_sent_again() -> None:
    async with open_pair() as pair:
        pair.frozen = []
        client = await pair.near.connect()
        await client.send(post())
        theirs = await reached(pair)
        pair.frozen = None
        theirs.close()  # as the kernel does for a killed process
        assert (await client.response()).status == 202
        assert pair.far.ingest.bodies == [EVENT]
