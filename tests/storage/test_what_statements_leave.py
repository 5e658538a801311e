"""A finished statement keeps no reference to its caller."""

import gc
import weakref
from collections.abc import Awaitable, Callable
from contextlib import suppress
from contextvars import ContextVar

import pytest
import trio

from storage.database.bridge import Bridge
from storage.database.connection import Connection
from storage.database.errors import PoisonError
from storage.database.profiles import LOG, POOL, Profile

PLAIN = Profile("test", statement_timeout_s=20.0, command_timeout_s=20.0)


class Request:
    """Stands for the web framework's request, which is in the context of the task that serves it."""


_REQUEST: ContextVar[Request] = ContextVar("request")


async def fetch(connection: Connection) -> None:
    await connection.fetch("SELECT $1::int", 1)


async def script(connection: Connection) -> None:
    await connection.execute("SELECT 1")


async def transaction(connection: Connection) -> None:
    async with connection.transaction():
        await fetch(connection)


async def listen(connection: Connection) -> None:
    await connection.listen("test", lambda _: None)


@pytest.mark.parametrize("profile", [PLAIN, POOL], ids=lambda each: each.purpose)
async def test_what_asked_is_gone_once_it_was_answered(bridge: Bridge, profile: Profile) -> None:
    connection = bridge.connection(profile)
    await connection.ensure()  # the driver has a timer while it connects
    asked: list[weakref.ref[Request]] = []

    async def request(ask: Callable[[Connection], Awaitable[None]]) -> None:
        found = Request()
        _REQUEST.set(found)
        asked.append(weakref.ref(found))
        await ask(connection)

    async with trio.open_nursery() as nursery:
        for ask in (fetch, script, transaction, listen):
            nursery.start_soon(request, ask)
    gc.collect()
    assert [each() for each in asked] == [None] * 4


class Text(str):
    """An argument that supports weak references."""


async def test_a_refused_statement_leaves_nothing_to_the_collector(bridge: Bridge) -> None:
    connection = bridge.connection(POOL)
    sql = "SELECT ($1::text)::int"
    assert await connection.fetch_value(sql, "1") == 1
    given = Text("nonsense")
    seen = weakref.ref(given)
    gc.collect()
    gc.disable()
    try:
        with suppress(PoisonError):  # pytest would keep the error, and with it the statement
            await connection.fetch(sql, given)
        del given
        assert seen() is None
    finally:
        gc.enable()


def test_who_lists_and_changes_as_fast_as_it_can_takes_the_lean_crossing() -> None:
    assert all(profile.lean for profile in (POOL, LOG))
