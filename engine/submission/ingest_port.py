"""The port of ingestion: it takes a request's body on its way to a commit."""

from typing import Protocol

from engine.model.read_models import EnvironmentModel
from engine.submission.receipts import Done


class IngestPort(Protocol):
    """The taker of ingestion requests; see `engine.ingest.ingest.Ingest`."""

    def submit(
        self,
        environment: EnvironmentModel,
        body: bytes,
        batch: bool,
        done: Done,
        hops: int = 0,
        key: str | None = None,
        trace: str | None = None,
    ) -> None:
        """Take one request's body, and call `done` exactly once, now or later. `hops` and `trace` are
        those of its events. `key`: the idempotency key of its only event, from the request's head."""
