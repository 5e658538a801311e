"""`angarium master-key`: replace the key that encrypts secrets at rest, while the server runs."""

from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any

import click
import trio

from api.cli.database import bring_up_to_date, database
from api.cli.errors import SettingsTrouble, Trouble
from api.cli.keys import output_option
from api.cli.options import DATABASE, settings_flags, settings_from
from api.cli.printing import json_text, say
from api.cli.suggestions import CommandGroup
from engine.control.audit import Auditor, Principal
from engine.control.sessions import TTL_MOST_S
from engine.model.configuration import AuditEntry
from engine.model.identity import Identity
from engine.settings import Settings
from storage.configuration.workspaces import Workspaces
from storage.database.bridge import Bridge, open_bridge
from storage.database.connection import Connection
from storage.database.profiles import UPKEEP
from storage.encryption import master_keys
from storage.encryption.key_file import key_file_of, open_secret_box
from storage.encryption.rotation import Rotation
from storage.encryption.secretbox import SecretBox

SETTINGS = (*DATABASE, "file_url_lifetime")
_SAID = {
    "added": "a new key was created, and can decrypt",
    "known": "every running server has the new key",
    "first": "the new key is the first in the key file",
    "used": "every server encrypts with the new key",
    "resealed": "every secret is encrypted with the new key",
}


@click.group(
    "master-key",
    short_help="Replace the key that encrypts secrets at rest.",
    help="Replace the key that encrypts secrets in the database, without stopping the server. A "
    "key has an id that reveals nothing about it; no key is ever printed.",
    cls=CommandGroup,
)
def command() -> None:
    """Group the commands on the master key."""


@dataclass
class _Work:
    connection: Connection
    box: SecretBox
    rotation: Rotation
    bridge: Bridge


@command.command("rotate")
@output_option
@settings_flags(*SETTINGS)
def rotate(output: str, **flags: Any) -> None:
    """Create a new key, distribute it to every running server, and encrypt all secrets with it.

    Deliveries continue. If the command is interrupted, run it again: it continues where it stopped. The
    server can still decrypt with the former key. Remove the former key with `drop` when `status` allows
    that.

    If the keys are in the variable ANGARIUM_MASTER_KEY, this command creates no key. In that case, add a
    new key after the old key in the variable, and restart the server. Then move the new key before the
    old key, restart the server again, and run this command.
    """
    text = output != "json"

    def reached(step: str) -> None:
        if text and step in _SAID:
            say(_SAID[step])

    async def work(settings: Settings) -> tuple[bytes, bytes]:
        async with _open(settings, reached) as work:
            await work.rotation.hold()
            workspaces = await Workspaces(work.bridge.pool).all()
            ids = [tenant.workspace.id for tenant in workspaces]
            return await work.rotation.rotate(lambda old, new: _entries(ids, old, new))

    old, new = trio.run(work, settings_from(flags))
    if text:
        say(f"the new key is {new.hex()}; keep a copy of it separate from the database's backups")
        say(f"{old.hex()} can still decrypt: angarium master-key status says when to drop it")
    else:
        say(json_text({"former": old.hex(), "present": new.hex()}))


@command.command("drop")
@click.argument("key_id", metavar="ID")
@settings_flags(*SETTINGS)
def drop(key_id: str, **flags: Any) -> None:
    """Remove a former key from the key file, if nothing needs the key any more. ID is the key's id.

    Backups from before the rotation still need the key, so keep a copy of the key as long as you keep
    such backups. If the keys are in the variable ANGARIUM_MASTER_KEY, the command removes nothing. It
    only says whether you can remove the key from the variable.
    """
    try:
        key = bytes.fromhex(key_id)
    except ValueError:
        raise SettingsTrouble("ID must be an id that `angarium master-key status` shows") from None

    async def work(settings: Settings) -> bool:
        async with _open(settings) as work:
            await work.rotation.hold()
            await work.rotation.drop(key)
            return settings.master_key is None

    if trio.run(work, settings_from(flags)):
        say(f"{key.hex()} is removed; backups from before the rotation need your copy of it")
    else:
        say(f"nothing needs {key.hex()} any more: remove it from ANGARIUM_MASTER_KEY")


@command.command("status")
@output_option
@settings_flags(*SETTINGS)
def status(output: str, **flags: Any) -> None:
    """Show each key, the number of secrets encrypted with it, and whether the key can be dropped."""

    async def work(settings: Settings) -> list[dict[str, Any]]:
        async with _open(settings) as work:
            return await _shown(work)

    keys = trio.run(work, settings_from(flags))
    if output == "json":
        say(json_text({"keys": keys}))
        return
    row = "{:<16}  {:<10}  {:>8}  {:<12}  {}"
    say(row.format("ID", "ROLE", "SEALED", "SERVER", "NEEDED UNTIL"))
    for key in keys:
        server = {True: "has it", False: "has it not", None: "(none runs)"}[key["server"]]
        until = key["neededUntil"] or ("in use" if key["role"] == "seals" else "not known: rotate")
        if key["mayGo"]:
            until = "not needed: angarium master-key drop " + key["id"]
        say(row.format(key["id"], key["role"], key["sealed"], server, until))


async def _shown(work: _Work) -> list[dict[str, Any]]:
    past = {each.id: each for each in await master_keys.history(work.connection)}
    counts = await master_keys.counts(work.connection)
    running = await master_keys.processes(work.connection)
    shown = []
    for index, key in enumerate(dict.fromkeys([*work.box.ids, *counts])):
        known = past.get(key)
        until = None if known is None else known.needed_until
        unneeded = known is not None and known.unneeded is True and not counts.get(key)
        role = "seals" if index == 0 else "opens" if key in work.box.ids else "is missing"
        shown.append(
            {
                "id": key.hex(),
                "role": role,
                "sealed": counts.get(key, 0),
                "server": all(key in process.keys for process in running) if running else None,
                "neededUntil": None if until is None else until.strftime("%Y-%m-%dT%H:%M:%SZ"),
                "mayGo": role == "opens" and unneeded,
            }
        )
    return shown


def _entries(workspaces: Sequence[str], old: bytes, new: bytes) -> list[AuditEntry]:
    auditor = Auditor(Identity())
    changes = {"key": {"from": old.hex(), "to": new.hex()}}
    return [
        auditor.entry(
            Principal(kind="CLI", id="cli", workspace=workspace),
            "master_key.rotate",
            new.hex(),
            changes,
        )
        for workspace in workspaces
    ]


@asynccontextmanager
async def _open(
    settings: Settings, reached: Callable[[str], None] = lambda step: None
) -> AsyncIterator[_Work]:
    file = key_file_of(settings.master_key, settings.data_dir, settings.master_key_file)
    if file is not None and not file.path.exists():
        raise Trouble(f"{file.path} does not exist: the server's first start creates it")
    async with database(settings) as url, open_bridge(url) as bridge:
        await bring_up_to_date(bridge)
        box = open_secret_box(
            settings.master_key,
            settings.data_dir,
            own_database=settings.database_url is not None,
            key_file=settings.master_key_file,
        )
        connection = bridge.connection(UPKEEP)
        longest = max(TTL_MOST_S, settings.file_url_lifetime)
        yield _Work(connection, box, Rotation(connection, box, file, longest, reached), bridge)
