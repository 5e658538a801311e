"""A connection of HTTP/2 as its requests see it."""

from typing import TYPE_CHECKING, Protocol

from h2.errors import ErrorCodes

from api.cors import Headers
from api.door.elsewhere import Elsewhere
from api.door.exchange import Exchange
from api.door.limits import Limits
from api.heads import Heads
from api.ingestion import Admitted, Ingestion

if TYPE_CHECKING:
    from api.door.http2_answers import StreamAnswering


class RequestLane(Protocol):
    """What a request asks of its connection."""

    ingestion: Ingestion
    heads: Heads | None
    elsewhere: Elsewhere | None
    limits: Limits
    admitted: Admitted | None

    def now(self) -> float:
        """Return the instant."""

    def sooner(self, due: float) -> None:
        """Have `Request.expired` called at an instant, if not before."""

    def head(self, number: int, status: int, headers: Headers) -> None:
        """Send the head of an answer."""

    def send(self, request: "StreamAnswering") -> None:
        """Send what the request's answer has, as the client takes it."""

    def open_window(self, number: int, size: int) -> None:
        """Let the client send so many bytes more."""

    def reset(self, request: "StreamAnswering", code: ErrorCodes) -> None:
        """End a request's stream at once."""

    def over(self, request: "StreamAnswering") -> None:
        """Forget a request that has ended."""

    def know(self, known: bool) -> None:
        """Note whether the last request was of somebody who is entitled to something."""

    def pass_on(self, exchange: Exchange) -> None:
        """Have the application answer."""

    def count(self, status: int) -> None:
        """Note that an answer was given."""

    def fault(self, error: Exception) -> None:
        """Report a fault of ours."""

    def stalled(self, request: "StreamAnswering") -> None:
        """Give an answer up of which nothing was taken for too long."""
