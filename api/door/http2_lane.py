"""The interface of an HTTP/2 connection for its requests."""

from typing import TYPE_CHECKING, Protocol

from h2.errors import ErrorCodes

from api.cors import Headers
from api.door.exchange import Exchange
from api.door.limits import Limits
from api.door.request_relay import RequestRelay
from api.heads import Heads
from api.ingestion import Admitted, Ingestion

if TYPE_CHECKING:
    from api.door.http2_answers import StreamAnswering


class RequestLane(Protocol):
    """The calls that a request makes to its connection."""

    ingestion: Ingestion
    heads: Heads | None
    request_relay: RequestRelay | None
    limits: Limits
    admitted: Admitted | None

    def now(self) -> float:
        """Return trio's time."""

    def sooner(self, due: float) -> None:
        """Call the request's `expired` at `due` at the latest."""

    def head(self, number: int, status: int, headers: Headers) -> None:
        """Send the head of an answer."""

    def send(self, request: "StreamAnswering") -> None:
        """Send the part of the request's answer that is ready, as fast as the client takes it."""

    def open_window(self, number: int, size: int) -> None:
        """Let the client send `size` bytes more."""

    def reset(self, request: "StreamAnswering", code: ErrorCodes) -> None:
        """End a request's stream at once."""

    def over(self, request: "StreamAnswering") -> None:
        """Forget a request that has ended."""

    def know(self, known: bool) -> None:
        """Note whether the caller of the last request was known."""

    def pass_on(self, exchange: Exchange) -> None:
        """Pass a request to the application."""

    def count(self, status: int) -> None:
        """Count an answer."""

    def fault(self, error: Exception) -> None:
        """Report an error of the server."""

    def stalled(self, request: "StreamAnswering") -> None:
        """Abort an answer, because the client takes the answer too slowly."""
