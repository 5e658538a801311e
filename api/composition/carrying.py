"""The files' way to receivers: fetched from their sources, made of attachments, named by signed URLs."""

from typing import TYPE_CHECKING

from engine.files.attaching import Attaching
from engine.files.carrying import FileCarrier
from engine.files.fetching import Sources, UnroutedFiles
from engine.files.urls import PURPOSE, FileUrls
from engine.wire.fetch import Fetcher
from storage.files.rows import PostgresUnfetched

if TYPE_CHECKING:
    from api.composition import Server
    from storage.encryption.secretbox import SecretBox


class Carrying:
    """What deliveries and ingestion need of files; made of the server's wire and its `filing`."""

    def __init__(self, server: "Server", box: "SecretBox") -> None:
        filing, now = server.filing, server.clock.now
        self._server = server

        def workspace_of(environment: int) -> str | None:
            model = server.models.environments.get(environment)
            return None if model is None else model.workspace

        self.sources = Sources(
            Fetcher(server.wire.wiring), filing.depot, filing.store, workspace_of
        )
        lifetime_s = server.settings.file_url_lifetime
        self.urls = FileUrls(box.derived(PURPOSE), self._origin, lifetime_s, now)
        self.carrier = FileCarrier(
            filing.store,
            self.sources,
            self.urls,
            lambda work, event: server.background.spawn(work, event),
        )
        unfetched = PostgresUnfetched(server.bridge.pool, box)
        self.unrouted = UnroutedFiles(unfetched, filing.store, self.sources, now)
        self.attaching = Attaching(filing.depot, filing.store, server.identity)

    def _origin(self) -> str:
        """Where receivers find this server: as it was told, else where it listens."""
        settings = self._server.settings
        if settings.public_url is not None:
            return settings.public_url.rstrip("/")
        host, port = self._server.door.address[:2]
        scheme = "http" if settings.tls_cert is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
