"""The interface of ingestion: the HTTP server passes it the body of each request that sends events."""

from typing import Protocol

from engine.model.read_models import EnvironmentModel
from engine.submission.receipts import Done


class IngestPort(Protocol):
    """The ingestion of requests; see `engine.ingest.ingest.Ingest`."""

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
        """Take one request's body, and call `done` exactly once, now or later. `hops`, `trace` and `key`
        come from the request's headers; `key` is the idempotency key of a request with one event."""
