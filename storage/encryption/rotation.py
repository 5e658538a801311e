"""The rotation of the master key while servers run. If the command crashes at any step, a second run of
the command continues the rotation.

First every server reads the new key. Then every server begins to seal with the new key. Then the command
seals the values of the old key again. So at every moment every server can decrypt every value.
"""

from collections.abc import Callable, Sequence

import trio

from engine.model.configuration import AuditEntry
from storage.database.connection import Connection
from storage.database.errors import StoreAwayError
from storage.database.locks import Lock
from storage.encryption import master_keys
from storage.encryption.key_file import KeyFile, new_key
from storage.encryption.master_keys import EVERYTHING, Past, Process
from storage.encryption.secretbox import SecretBox, key_id

POLL_S = 0.1
WAIT_S = 30.0  # a server reads its keys within a second, or later if its database was away
STEPS = ("noted", "added", "known", "first", "used", "marked", "resealed", "finished")

Entries = Callable[[bytes, bytes], Sequence[AuditEntry]]


class RotationError(Exception):
    """A rotation cannot continue."""


class Rotation:
    """The rotation of one installation's master keys. `connection` is for the rotation alone. `file` is
    None if a setting holds the keys. A command calls `hold` before `rotate` or `drop`."""

    def __init__(
        self,
        connection: Connection,
        box: SecretBox,
        file: KeyFile | None,
        signed_for_s: float,
        reached: Callable[[str], None] = lambda step: None,
    ) -> None:
        """`signed_for_s`: the longest time for which a signature stays valid. `reached` is called with
        the name of each step (see STEPS)."""
        self._connection = connection
        self._box = box
        self._file = file
        self._signed_for_s = signed_for_s
        self._reached = reached
        self._session = 0
        self.wait_s = WAIT_S

    async def hold(self) -> None:
        """Take the rotation's lock, and keep it until the connection ends. Raises RotationError if
        another command has the lock."""
        if not await self._connection.fetch_value(
            "SELECT pg_try_advisory_lock($1)", int(Lock.MASTER_KEY)
        ):
            raise RotationError("another command is at work on the master key: wait for its end")
        self._session = self._connection.connects

    async def rotate(self, entries: Entries) -> tuple[bytes, bytes]:
        """Replace the key, or continue an earlier replacement. Return the ids of the former and the
        present key. Raises RotationError, SecretBoxError and StoreError."""
        await self._check_keys()
        if self._file is None:
            return await self._rotate_setting(entries)
        key = await self._begin(self._file)
        await self._tell(lambda process: key in process.keys, self._file)
        self._step("known")
        keys = self._file.again()
        if key_id(keys[0]) != key:
            keys.sort(key=lambda each: key_id(each) != key)  # the other keys keep their order
            self._file.write(keys)
        self._step("first")
        await self._tell(lambda process: process.keys[:1] == (key,), self._file)
        self._box.reread()
        self._step("used")
        return await self._seal(entries)

    async def drop(self, key: bytes) -> None:
        """Remove a former key from the file. If a setting holds the keys, only check that the operator
        can remove the key. Raises RotationError."""
        await self._check_keys()
        name = key.hex()
        if key not in self._box.ids:
            raise RotationError(f"there is no key {name}: see angarium master-key status")
        if key == self._box.ids[0]:
            raise RotationError(f"{name} is the key in use: angarium master-key rotate replaces it")
        past = {each.id: each for each in await master_keys.history(self._connection)}
        if _unfinished(list(past.values()), self._box.ids) is not None:
            raise RotationError(
                "a rotation has not ended: angarium master-key rotate goes on with it"
            )
        count = (await master_keys.counts(self._connection)).get(key, 0)
        if count:
            raise RotationError(f"{count} values are sealed with {name} still: rotate again")
        if key not in past or past[key].needed_until is None:
            raise RotationError(f"it is not known since when {name} is not used: rotate once")
        if not past[key].unneeded:
            until = f"{past[key].needed_until:%Y-%m-%d %H:%M} UTC"
            raise RotationError(f"signatures by {name} are valid until {until}: drop it then")
        for process in await master_keys.processes(self._connection):
            if process.keys[:1] == (key,):
                raise RotationError(f"the running server seals with {name}: restart it first")
        if self._file is not None:
            self._step("added")
            self._file.write([each for each in self._file.again() if key_id(each) != key])
            self._box.reread()
            await master_keys.announce(self._connection)
            await master_keys.forget(self._connection, self._box.ids)

    # --- the steps

    async def _begin(self, file: KeyFile) -> bytes:
        ids = self._box.ids
        await master_keys.forget(self._connection, ids)
        begun = _unfinished(await master_keys.history(self._connection), ids)
        if begun is not None:
            return begun
        key = new_key()
        await master_keys.add(self._connection, key_id(key))
        self._step("noted")
        file.write([*file.again(), key])
        self._box.reread()
        self._step("added")
        return key_id(key)

    async def _rotate_setting(self, entries: Entries) -> tuple[bytes, bytes]:
        first = self._box.ids[0]
        for process in await master_keys.processes(self._connection):
            if process.keys[:1] != (first,):
                raise RotationError(
                    "the running server seals with another key than the first one given here: put"
                    " the new key behind the old in ANGARIUM_MASTER_KEY and restart the server, then"
                    " before it and restart again, then rotate"
                )
        counts = await master_keys.counts(self._connection)
        done = {each.id for each in await master_keys.history(self._connection) if each.resealed_at}
        if len(self._box.ids) == 1 or (first in done and set(counts) <= {first}):
            raise RotationError(
                "there is nothing to rotate to: put a new key (openssl rand -base64 32) behind the"
                " present one in ANGARIUM_MASTER_KEY and restart the server, then before it and"
                " restart again, then rotate. With ANGARIUM_MASTER_KEY_FILE this command does it all"
            )
        await master_keys.add(self._connection, first)
        return await self._seal(entries)

    async def _seal(self, entries: Entries) -> tuple[bytes, bytes]:
        first, former = self._box.ids[0], self._box.ids[1:]
        running = await master_keys.processes(self._connection)
        longest = max([self._signed_for_s, *(process.signed_for_s for process in running)])
        await master_keys.promote(self._connection, first, former, longest)
        self._step("marked")
        while set(await master_keys.counts(self._connection)) - {first}:
            for sealed in EVERYTHING:
                last: tuple[int, str] | None = master_keys.BEGINNING
                while last is not None:
                    last = await master_keys.reseal(self._connection, self._box, sealed, last)
        self._step("resealed")
        await master_keys.finish(self._connection, first, entries(former[0], first))
        self._step("finished")
        return former[0], first

    # --- checks

    async def _check_keys(self) -> None:
        own = set(self._box.ids)
        if foreign := set(await master_keys.counts(self._connection)) - own:
            name = min(foreign).hex()
            raise RotationError(
                f"there are values sealed with key {name}, which is not here: is it the right"
                f" {'setting' if self._file is None else f'file ({self._file.path})'}?"
            )
        for process in await master_keys.processes(self._connection):
            if process.keys and not own.intersection(process.keys):
                raise RotationError("the running server has other keys than these")

    async def _tell(self, has: Callable[[Process], bool], file: KeyFile) -> None:
        with trio.move_on_after(self.wait_s):
            while True:
                await master_keys.announce(self._connection)
                await trio.sleep(POLL_S)
                if all(map(has, await master_keys.processes(self._connection))):
                    return
        raise RotationError(
            f"the running server did not read the new keys within {self.wait_s:g} s: can it read"
            f" {file.path}? Nothing is lost: run this again"
        )

    def _step(self, step: str) -> None:
        if self._connection.connects != self._session:
            raise StoreAwayError("the connection was lost, and with it the lock of the rotation")
        self._reached(step)


def _unfinished(past: Sequence[Past], ids: Sequence[bytes]) -> bytes | None:
    for each in reversed(past):
        if each.id in ids and each.resealed_at is None and each.needed_until is None:
            return each.id
    return None
