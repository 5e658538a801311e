"""Callers whose requests another worker answers, and callers that this worker does not know."""

import pytest
import trio
import trio.testing

from api.door.exchange import Exchange
from tests.door.house import EVENT, post
from tests.door.test_request_relay import open_pair
from tests.patience import until


async def test_a_credential_that_is_new_is_waited_for() -> None:
    async with open_pair() as pair:
        pair.known = False
        answer = await pair.near.ask(post())
        assert answer.status == 202
        assert pair.far.ingest.bodies == [EVENT]


async def test_a_credential_that_nobody_knows_is_refused_here() -> None:
    async with open_pair() as pair:
        answer = await pair.near.ask(post(key=b"ang_dev_nobody"))
        assert answer.status == 401
        assert pair.dialled == 0


async def test_an_unknown_credential_does_not_wait_if_too_many_wait(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("api.door.request_relay.STRANGERS", 1)
    async with open_pair() as pair:
        pair.known, pair.caught_up = False, trio.Event()
        waiting = await pair.near.connect()
        await waiting.send(post())
        await trio.testing.wait_all_tasks_blocked(0.01)
        assert (await pair.near.ask(post(key=b"ang_dev_nobody"))).status == 401
        pair.caught_up.set()
        assert (await waiting.response()).status == 202


async def test_a_relayed_caller_is_known_unless_it_was_refused() -> None:
    """A refusal makes only the caller's connection a STRANGER. The link between the workers stays KNOWN,
    because other callers use the link too."""
    async with open_pair(ingest_limit=1) as pair:
        client = await pair.near.connect()
        await client.send(post())
        assert (await client.response()).status == 202
        (connection,) = pair.near.door._channels
        (link,) = pair.far.door._channels
        await until(lambda: connection.known)
        for request, status in ((post(), 429), (post(key=b"ang_dev_nobody"), 401)):
            await client.send(request)
            assert (await client.response()).status == status
            await until(lambda: not connection.known)
            assert link.known
            connection._know(True)


async def test_a_judgement_that_fails_ends_one_request(monkeypatch: pytest.MonkeyPatch) -> None:
    async with open_pair() as pair:
        monkeypatch.setattr(Exchange, "judge", lambda *_: 1 / 0)
        monkeypatch.setattr(pair.near.door, "heads", object())
        assert (await pair.near.ask(post(key=b"ang_dev_nobody"))).status == 500
        (error,) = pair.near.errors
        assert isinstance(error, ZeroDivisionError)
        pair.near.errors.clear()
