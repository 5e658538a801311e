"""The master keys of a running server: read again when they have changed, and said which they are."""

import structlog
import trio

from api.composition.delivery import DeliveryParts
from engine.control.console import PURPOSE as CONSOLE
from engine.control.console import TTL_S as CONSOLE_TTL_S
from engine.control.console import ConsoleTokens
from engine.control.loading import Loader
from engine.control.sessions import PURPOSE as SESSIONS
from engine.control.sessions import TTL_MOST_S, SessionTokens
from engine.files.urls import PURPOSE as FILE_URLS
from engine.model.hops import PURPOSE as HOPS
from storage.encryption import master_keys
from storage.encryption.secretbox import SecretBox, SecretBoxError

log = structlog.get_logger("angarium.storage")


class Keyring:
    """Owner of the box of a server, and of what is derived from it."""

    def __init__(
        self,
        base: DeliveryParts,
        box: SecretBox,
        tokens: SessionTokens,
        console: ConsoleTokens,
        loader: Loader,
    ) -> None:
        self._base = base
        self._tokens = tokens
        self._console = console
        self._loader = loader
        self._box = box
        self._limit = trio.CapacityLimiter(1)
        self.changed = trio.Event()  # renewed whenever the keys were read
        self._signed_for_s = max(CONSOLE_TTL_S, TTL_MOST_S, base.settings.file_url_lifetime)

    @property
    def ids(self) -> tuple[bytes, ...]:
        """The ids of the keys, the one that seals first."""
        return self._box.ids

    async def refresh(self) -> None:
        """Take the keys as they are now, and tell the database. Raises StoreError. Keys that cannot be
        read change nothing: what is here opens what it did."""
        base, box = self._base, self._box
        try:
            if await trio.to_thread.run_sync(box.reread, limiter=self._limit):
                log.info("master_key.changed", first=box.ids[0].hex(), keys=len(box.ids))
        except SecretBoxError as error:
            log.warning("master_key.unreadable", error=str(error))
        self._tokens.keys.use(box.derived(SESSIONS))
        self._console.keys.use(box.derived(CONSOLE))
        base.hops.use(box.derived(HOPS))
        base.carrying.urls.keys.use(box.derived(FILE_URLS))
        await master_keys.tell(
            base.bridge.pool, base.ownership.process, box.ids, self._signed_for_s
        )
        self.changed.set()
        self.changed = trio.Event()

    async def reload(self) -> None:
        """Read everything anew: what was written meanwhile may be sealed with a new key."""
        await self.refresh()
        await self._loader.load()
