"""Rotation of the master key while a server runs: all that was sealed or signed stays readable."""

import base64
import json
import re
import stat
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
import trio

import angarium
from engine.model.configuration import Tenant
from storage.database.bridge import Bridge
from storage.database.profiles import UPKEEP
from storage.encryption import master_keys
from storage.encryption.key_file import KeyFile, open_secret_box
from storage.encryption.rotation import STEPS, Rotation, RotationError
from storage.encryption.secretbox import SecretBox, key_id
from tests.api.house import Caller
from tests.cli.programs import angarium as run
from tests.cli.programs import environment
from tests.patience import HANGS_S
from tests.service.house import ServiceHouse, destination, open_with, post
from tests.service.receiver import Receiver

ROOT = Path(__file__).parent.parent.parent
DAY_S = 86_400.0


class KilledError(Exception):
    """Ends the command, as a kill would."""


class Installation:
    def __init__(self, house: ServiceHouse, bridge: Bridge, file: KeyFile) -> None:
        self.house = house
        self.bridge = bridge
        self.file = file
        self.url = bridge.url

    def ids(self) -> list[str]:
        return [key_id(key).hex() for key in self.file.again()]

    async def command(self, *words: str, **env: str | None) -> tuple[int, str]:
        """Run `angarium master-key ...`, whose output must not contain a key."""
        given = environment(self.url, self.file.path.parent)
        del given["ANGARIUM_MASTER_KEY"]
        wanted = {"ANGARIUM_MASTER_KEY_FILE": str(self.file.path), **env}
        given |= {name: value for name, value in wanted.items() if value is not None}
        done = await run("master-key", *words, env=given)
        out = done.out + done.err
        for key in self.file.again():
            assert base64.b64encode(key).decode() not in out
            assert key.hex() not in out
        return done.code, out

    async def ok(self, *words: str, **env: str | None) -> Any:
        code, out = await self.command(*words, "--output", "json", **env)
        assert code == 0, out
        return json.loads(out)

    async def refused(self, words: str, *arguments: str, **env: str | None) -> None:
        code, out = await self.command(*arguments, **env)
        assert code == 1, out
        assert words in out, out

    async def until(self, step: str) -> None:
        """Start a rotation, and kill it when it reaches this step."""

        def reached(now: str) -> None:
            if now == step:
                raise KilledError

        connection = self.bridge.connection(UPKEEP)
        try:
            box = SecretBox(self.file.again(), self.file.again)
            rotation = Rotation(connection, box, self.file, DAY_S, reached)
            await rotation.hold()
            with pytest.raises(KilledError):
                await rotation.rotate(lambda _, __: [])
        finally:
            await self.bridge.release(connection)

    async def sealed_with(self) -> dict[str, int]:
        async with self.bridge.pool.connection() as connection:
            found = await master_keys.counts(connection)
        return {key.hex(): count for key, count in found.items()}


@asynccontextmanager
async def opened(bridge: Bridge, folder: Path) -> AsyncIterator[Installation]:
    file = KeyFile(folder / "the.key")
    file.make()
    box = open_secret_box(None, folder, own_database=True, key_file=file.path)
    async with open_with(bridge, box, 120) as house:
        yield Installation(house, bridge, file)


@pytest.fixture
async def there(bridge: Bridge, tmp_path: Path) -> AsyncIterator[Installation]:
    async with opened(bridge, tmp_path) as there:
        yield there


@pytest.fixture
async def house(there: Installation) -> ServiceHouse:
    return there.house


async def furnish(api: Caller, receiver: Receiver) -> tuple[str, list[str]]:
    """Create a row of every kind that is sealed. Return the destination and its signing secrets."""
    made = await api(
        "POST",
        "/destinations",
        {
            "name": "d",
            "url": receiver.url(),
            "headers": {"X-Api-Token": "a-secret"},
            "authentication": {"kind": "BEARER", "token": "another"},
        },
    )
    rule = {"name": "r", "destinationId": made.json["id"], "eventTypes": ["e.*"]}
    assert (await api("POST", "/routing-rules", rule)).status == 201
    slack = {
        "name": "s",
        "templateId": "slack",
        "config": {"webhookUrl": "https://hooks.slack.com/services/T0/B0/x"},
    }
    assert (await api("POST", "/destinations", slack)).status == 201
    file = {"fileName": "f", "source": {"kind": "URL", "uri": receiver.url("/none?secret=1")}}
    assert (await api("POST", "/files", file)).status == 202
    return made.json["id"], [made.json["secret"]]


async def delivered(api: Caller, receiver: Receiver, secrets: list[str]) -> None:
    event = await post(api)
    while not (found := [each for each in receiver.of("/hook") if each.event == event]):
        await receiver.reaches(len(receiver.received) + 1)
    angarium.verify(found[0].body, found[0].headers, secrets)
    assert found[0].headers["x-api-token"] == "a-secret"
    assert found[0].headers["authorization"] == "Bearer another"


async def test_everything_is_sealed_anew_while_deliveries_go_on(
    there: Installation, tenant: Tenant, api: Caller, receiver: Receiver
) -> None:
    hook, secrets = await furnish(api, receiver)
    await delivered(api, receiver, secrets)
    before = await there.bridge.pool.fetch(
        "SELECT id, version, updated_at_ms FROM destinations ORDER BY id"
    )
    made = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    browser = there.house.caller_with(made.json["token"])
    there.file.path.chmod(0o600)
    (old,) = there.ids()
    done = await there.ok("rotate")
    assert done["former"] == old
    new = done["present"]
    assert there.ids() == [new, old]
    assert await there.sealed_with() == {new: 4}
    assert stat.S_IMODE(there.file.path.stat().st_mode) == 0o600
    assert [file.name for file in there.file.path.parent.iterdir()] == ["the.key"]
    assert before == await there.bridge.pool.fetch(
        "SELECT id, version, updated_at_ms FROM destinations ORDER BY id"
    )
    await delivered(api, receiver, secrets)
    assert (await browser("GET", "/auth/context")).status == 200
    changed = await api("PATCH", f"/destinations/{hook}", {"description": "new"})
    assert changed.status == 200
    await delivered(api, receiver, secrets)
    again = await api("POST", "/embed/sessions", {"customerExternalId": "ada"})
    token = base64.urlsafe_b64decode(again.json["token"].removeprefix("anges_") + "==")
    assert token[:4].hex() == new[:8]
    rows = await there.bridge.pool.fetch(
        "SELECT * FROM audit_log WHERE action = 'master_key.rotate'"
    )
    (row,) = [row for row in rows if str(row["workspace"]) == tenant.workspace.id]
    assert json.loads(row["changes"]) == {"key": {"from": old, "to": new}}
    assert (row["object_type"], row["object_id"], row["actor_type"]) == ("master_key", new, "CLI")
    shown = (await there.ok("status"))["keys"]
    assert [(key["id"], key["role"], key["sealed"], key["server"]) for key in shown] == [
        (new, "seals", 4, True),
        (old, "opens", 0, True),
    ]
    assert not any(key["mayGo"] for key in shown)
    await there.refused("are valid until", "drop", old)
    await there.refused("is the key in use", "drop", new)


@pytest.mark.parametrize("step", STEPS)
async def test_a_rotation_may_be_killed_at_any_step(
    there: Installation, api: Caller, receiver: Receiver, step: str
) -> None:
    _, secrets = await furnish(api, receiver)
    (old,) = there.ids()
    await there.until(step)
    # The running server can open all sealed rows and seal new rows. So can a newly started server.
    await there.house.server.tables.load()
    await delivered(api, receiver, secrets)
    assert (await api("POST", "/destinations", {"name": "n", "url": receiver.url("/n")})).status
    fresh = open_secret_box(
        None, there.file.path.parent, own_database=True, key_file=there.file.path
    )
    assert set(await there.sealed_with()) <= {key.hex() for key in fresh.ids}
    assert len(there.ids()) == (1 if step == "noted" else 2)
    done = await there.ok("rotate")
    if step == "finished":  # the earlier rotation was complete, so this was another one
        assert len(there.ids()) == 3
    else:
        assert there.ids() == [done["present"], old]
    assert await there.sealed_with() == {done["present"]: 5}
    await there.house.server.tables.load()
    await delivered(api, receiver, secrets)


async def test_a_former_key_goes_when_nothing_needs_it(
    there: Installation, api: Caller, receiver: Receiver
) -> None:
    await furnish(api, receiver)
    done = await there.ok("rotate")
    old, new = done["former"], done["present"]
    await there.refused("there is no key", "drop", "00" * 8)
    await there.bridge.pool.execute("UPDATE master_keys SET needed_until = now() - '1 s'::interval")
    # A row sealed with this key returns, as from a backup.
    row = await there.bridge.pool.fetch_row("SELECT id::text, sealed FROM destinations LIMIT 1")
    assert row is not None
    box = SecretBox(there.file.again())
    place = f"destinations/{row['id']}"
    former = SecretBox(there.file.again()[::-1]).seal(box.open(row["sealed"], place), place)
    update = "UPDATE destinations SET sealed = $2 WHERE id = $1::uuid"
    await there.bridge.pool.fetch(update, row["id"], former)
    await there.refused("1 values are sealed with", "drop", old)
    await there.bridge.pool.fetch(update, row["id"], row["sealed"])
    (_, shown) = (await there.ok("status"))["keys"]
    assert shown["mayGo"] is True
    code, out = await there.command("drop", old)
    assert code == 0, out
    assert there.ids() == [new]
    with trio.fail_after(HANGS_S):
        while len(there.house.server.keyring.ids) != 1:
            await there.house.server.keyring.changed.wait()
    assert [key["id"] for key in (await there.ok("status"))["keys"]] == [new]


async def test_two_at_once_and_other_keys_are_refused(
    there: Installation, api: Caller, receiver: Receiver, tmp_path: Path
) -> None:
    await furnish(api, receiver)
    connection = there.bridge.connection(UPKEEP)
    await Rotation(connection, SecretBox(there.file.again()), there.file, DAY_S).hold()
    await there.refused("another command is at work", "rotate")
    await there.bridge.release(connection)
    other = KeyFile(tmp_path / "other.key")
    other.make()
    text = other.path.read_bytes()
    await there.refused("is it the right file", "rotate", ANGARIUM_MASTER_KEY_FILE=str(other.path))
    assert other.path.read_bytes() == text
    await there.refused("does not exist", "rotate", ANGARIUM_MASTER_KEY_FILE=str(tmp_path / "none"))
    setting = {"ANGARIUM_MASTER_KEY": base64.b64encode(b"x" * 32).decode()}
    code, out = await there.command("rotate", **setting)
    assert "both set" in out
    assert code != 0
    assert len(there.ids()) == 1


async def test_a_server_that_does_not_hear_of_the_key_stops_it_before_anything_is_sealed(
    bridge: Bridge, tmp_path: Path
) -> None:
    file = KeyFile(tmp_path / "the.key")
    file.make()
    # The key comes from the setting.
    async with open_with(bridge, SecretBox(file.again())) as house:
        there = Installation(house, bridge, file)
        api = await house.caller(await house.tenant("acme"))
        await destination(api, "http://127.0.0.1:1/")
        (old,) = there.ids()
        connection = bridge.connection(UPKEEP)
        box = SecretBox(file.again(), file.again)
        rotation = Rotation(connection, box, file, DAY_S)
        rotation.wait_s = 0.3
        await rotation.hold()
        with pytest.raises(RotationError, match="Nothing is lost"):
            await rotation.rotate(lambda _, __: [])
        assert there.ids()[0] == old
        assert await there.sealed_with() == {old: 1}


async def test_keys_of_a_setting_are_rotated_by_hand(bridge: Bridge, tmp_path: Path) -> None:
    old, new = b"o" * 32, b"n" * 32
    file = KeyFile(tmp_path / "unused.key")
    file.make()

    def setting(*keys: bytes) -> dict[str, str | None]:
        text = ",".join(base64.b64encode(key).decode() for key in keys)
        return {"ANGARIUM_MASTER_KEY": text, "ANGARIUM_MASTER_KEY_FILE": None}

    async with open_with(bridge, SecretBox([old])) as house:
        there = Installation(house, bridge, file)
        api = await house.caller(await house.tenant("acme"))
        await destination(api, "http://127.0.0.1:1/")
        await there.refused("nothing to rotate to", "rotate", **setting(old))
        await there.refused("seals with another key", "rotate", **setting(new, old))
    async with open_with(bridge, SecretBox([new, old])) as house:
        there = Installation(house, bridge, file)
        done = await there.ok("rotate", **setting(new, old))
        assert await there.sealed_with() == {key_id(new).hex(): 1}
        assert done == {"former": key_id(old).hex(), "present": key_id(new).hex()}
        await there.refused("nothing to rotate to", "rotate", **setting(new, old))
        await there.refused("are valid until", "drop", key_id(old).hex(), **setting(new, old))
        await bridge.pool.execute("UPDATE master_keys SET needed_until = now() - '1 s'::interval")
        code, out = await there.command("drop", key_id(old).hex(), **setting(new, old))
        assert code == 0
        assert "remove it from ANGARIUM_MASTER_KEY" in out


def test_every_place_that_seals_is_known_to_the_rotation() -> None:
    sealing = {
        str(path.relative_to(ROOT))
        for folder in ("storage", "engine", "api")
        for path in (ROOT / folder).rglob("*.py")
        if re.search(r"\.seal\(", path.read_text("utf-8"))
    }
    assert sealing == {
        "storage/configuration/destinations.py",
        "storage/files/rows.py",
        "storage/encryption/master_keys.py",
    }
    assert [(each.table, each.column) for each in master_keys.EVERYTHING] == [
        ("destinations", "sealed"),
        ("destinations", "authentication"),
        ("files", "source_url"),
    ]
