"""The files' way to receivers: fetched from their sources, made of attachments, named by signed URLs."""

from collections.abc import Callable

from api.composition.filing import Filing
from api.composition.foundation import Foundation
from engine.files.attaching import Attaching
from engine.files.carrying import FileCarrier
from engine.files.fetching import Sources, UnroutedFiles
from engine.files.urls import PURPOSE, FileUrls
from engine.wire.fetch import Fetcher
from storage.encryption.secretbox import SecretBox
from storage.files.rows import PostgresUnfetched


class Carrying:
    """What deliveries and ingestion need of files; made of the foundation and of where files are."""

    def __init__(
        self,
        base: Foundation,
        box: SecretBox,
        filing: Filing,
        address: Callable[[], tuple[str, int]],
    ) -> None:
        now = base.clock.now
        self._settings = base.settings
        self._address = address

        def workspace_of(environment: int) -> str | None:
            model = base.models.environments.get(environment)
            return None if model is None else model.workspace

        self.sources = Sources(Fetcher(base.wire.wiring), filing.depot, filing.store, workspace_of)
        lifetime_s = base.settings.file_url_lifetime
        self.urls = FileUrls(box.derived(PURPOSE), self._origin, lifetime_s, now)
        self.carrier = FileCarrier(
            filing.store,
            self.sources,
            self.urls,
            base.background.spawn,
        )
        unfetched = PostgresUnfetched(base.bridge.pool, box, base.part)
        self.unrouted = UnroutedFiles(unfetched, filing.store, self.sources, now)
        self.attaching = Attaching(filing.depot, filing.store, base.identity)

    def portal(self, workspace: str) -> str:
        """Return the address of the portal of a workspace's customers: the operator's, else this
        server's own."""
        return self._settings.portal_url or f"{self._origin()}/portal/{workspace}"

    def _origin(self) -> str:
        """Where receivers and browsers find this server: as it was told, else where it listens."""
        settings = self._settings
        if settings.public_url is not None:
            return settings.public_url.rstrip("/")
        host, port = self._address()
        scheme = "http" if settings.tls_cert is None else "https"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{port}"
