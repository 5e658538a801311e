"""Nodes of this release beside nodes of earlier releases. The tests replay the recorded bytes and
statements of the earlier nodes (record_nodes.py)."""

import json
from pathlib import Path
from typing import Any

import pytest
import trio
import trio.testing

from engine.peers import handshake
from engine.peers.handshake import NO_TLS, Caller
from storage.database.bridge import open_bridge
from tests.upgrade.record_nodes import CLIENT, DIGEST, KEY, KEY_ID, NONCE, Heard

RECORDED = {
    each.name.split(".")[0]: json.loads(each.read_text())
    for each in sorted((Path(__file__).parent / "releases").glob("*.nodes.json"))
}
LINKS = [
    pytest.param(link, id=f"{name} {link['kind']}")
    for name, told in RECORDED.items()
    for link in told["links"]
]


@pytest.fixture(autouse=True)
def same_nonce(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engine.peers.handshake.secrets.token_bytes", lambda _: NONCE)


@pytest.mark.parametrize("link", LINKS)
async def test_a_former_release_dials_this_one(link: dict[str, Any]) -> None:
    former, mine = trio.testing.memory_stream_pair()
    heard = Heard(mine)
    await former.send_all(bytes.fromhex(link["dialler"]))
    caller = await handshake.accept(heard, {KEY_ID: KEY}, DIGEST)
    assert caller == Caller(CLIENT, link["kind"])
    assert heard.sent.hex() == link["acceptor"]


@pytest.mark.parametrize("link", LINKS)
async def test_this_release_dials_a_former_one(link: dict[str, Any]) -> None:
    former, mine = trio.testing.memory_stream_pair()
    heard = Heard(mine)
    await former.send_all(bytes.fromhex(link["acceptor"]))
    digest = await handshake.dial(heard, {KEY_ID: KEY}, CLIENT, kind=link["kind"])
    assert digest == (NO_TLS if link["kind"] is None else DIGEST)
    assert heard.sent.hex() == link["dialler"]


@pytest.mark.parametrize("name", RECORDED)
async def test_statements_of_a_former_release_fit_this_database(
    database_url: str, name: str
) -> None:
    async with open_bridge(database_url) as bridge, bridge.pool.connection() as connection:
        for number, sql in enumerate(RECORDED[name]["statements"].values()):
            await connection.execute(f"PREPARE former{number} AS {sql}")
        found = "SELECT count(*) FROM pg_prepared_statements WHERE name LIKE 'former%'"
        assert await connection.fetch_value(found) == len(RECORDED[name]["statements"])
