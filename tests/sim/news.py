"""News of configuration that other processes wrote. It simulates `storage.audit.changes`.

After a lost connection, the whole configuration is read again.
"""

import trio

from engine.control.loading import Loader
from engine.ports import StoreAwayError

RETRY_S = 1.0  # after a loss, until it listens again


class News:
    """The changes of the configuration that were announced, but that this process has not yet read.
    Owner: the task in `run`."""

    def __init__(self, loader: Loader) -> None:
        self._loader = loader
        self._heard: dict[tuple[str, str], None] = {}
        self._wake = trio.Event()
        self._lost = True

    def hear(self, kind: str, identifier: str) -> None:
        self._heard[kind, identifier] = None
        self._wake.set()

    def lose(self) -> None:
        self._lost = True
        self._heard.clear()
        self._wake.set()

    async def run(self) -> None:
        """Keep the read models equal to the rows until cancelled."""
        while True:
            self._wake = trio.Event()
            try:
                if self._lost:
                    self._lost = False
                    await self._loader.load()
                heard, self._heard = list(self._heard), {}
                if heard:
                    await self._loader.changed_all(heard)
            except StoreAwayError:
                self._lost = True
                await trio.sleep(RETRY_S)
                continue
            except BaseException:
                self._lost = True
                raise
            if not self._heard:
                await self._wake.wait()
