"""A type checker's view of the client. `mypy` checks the functions of this module. No code calls them."""

from collections.abc import AsyncIterator, Iterator
from typing import assert_type

from angarium import AsyncClient, Client, shapes


def synchronous(client: Client) -> None:
    assert_type(client.auth_context(), shapes.AuthContext)
    assert_type(client.events.send("a.b", {}), shapes.IngestResult)
    assert_type(client.events.list(), shapes.Page[shapes.EventItem])
    assert_type(client.deliveries.iterate(status="FAILED"), Iterator[shapes.DeliveryItem])
    assert_type(client.dlq.get("i"), shapes.DlqEntry | None)
    assert_type(client.replay_jobs.watch("i"), Iterator[shapes.ReplayProgress])
    client.deliveries.list(status="LOST")  # type: ignore[arg-type]  # no such status
    client.deliveries.list(state="FAILED")  # type: ignore[call-arg]  # no such filter
    client.events.send("a.b")  # type: ignore[call-arg]  # no payload


async def asynchronous(client: AsyncClient) -> None:
    assert_type(await client.auth_context(), shapes.AuthContext)
    assert_type(await client.events.send("a.b", {}), shapes.IngestResult)
    assert_type(await client.events.list(), shapes.Page[shapes.EventItem])
    assert_type(client.deliveries.iterate(status="FAILED"), AsyncIterator[shapes.DeliveryItem])
    assert_type(await client.dlq.get("i"), shapes.DlqEntry | None)
    assert_type(client.replay_jobs.watch("i"), AsyncIterator[shapes.ReplayProgress])
