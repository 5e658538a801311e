"""The answer to an HTTP/2 request, and the draining of the request's body after the answer.

Nothing here awaits.
"""

from h2.errors import ErrorCodes

from api.admission import Allowance, with_allowance
from api.cors import Headers
from api.door.exchange import Exchange
from api.door.framing import Head
from api.door.http2_lane import RequestLane
from api.door.http2_protocol import STREAM_WINDOW
from api.door.limits import NO_WORKSPACE, SLICE_BYTES
from api.door.places import UntakenAnswers
from api.door.response import date
from api.envelope import request_id_of
from api.heads import DirectAnswer
from api.ingestion import Admitted, IngestionAnswer, refusal_of
from engine.model.errors import Refusal

FOREVER = float("inf")
NOTHING = memoryview(b"")


class StreamAnswering:
    __slots__ = (
        "_admitted",
        "_allowance",
        "_allowed",
        "_answered",
        "_came",
        "_complete",
        "_drawn",
        "_exchange",
        "_held",
        "_kept",
        "_lane",
        "_slice",
        "due",
        "ended",
        "head",
        "last",
        "number",
        "out",
        "request_id",
    )

    def __init__(self, lane: RequestLane, number: int, head: Head, ended: bool) -> None:
        self.number = number
        self.head = head
        self.ended = ended  # the client has sent everything
        self.due = FOREVER
        self.out = NOTHING  # the unsent slice of the answer's body
        self.last = False  # `out` is the end of the answer
        self.request_id = request_id_of(head.index.get(b"x-request-id"))
        self._lane = lane
        self._admitted: Admitted | None = None
        self._allowance: Allowance | None = None  # the caller's, once the caller is known
        self._exchange: Exchange | None = None
        self._held = bytearray()  # the request's body, before the application or Ingest takes it
        self._drawn = 0
        self._came = 0  # bytes of the body that have come
        self._allowed = STREAM_WINDOW  # bytes of the body that the client was allowed to send
        self._answered = False  # the answer has begun, or the client does not want it
        self._complete = False  # the answer was sent to its end
        self._slice = 0  # bytes of the answer sent since its deadline was set
        self._kept: tuple[UntakenAnswers, str, int] | None = None

    def _await(self, seconds: float) -> None:
        self.due = self._lane.now() + seconds
        self._lane.sooner(self.due)

    def _allow(self, total: int) -> None:
        """Let the client send `total` bytes of the body in all."""
        more = total - self._allowed
        if more > 0:
            self._allowed = total
            self._lane.open_window(self.number, more)

    def _give_back(self) -> None:
        drawn, self._drawn = self._drawn, 0
        if drawn:
            workspace = NO_WORKSPACE if self._admitted is None else self._admitted.workspace
            self._lane.ingestion.bodies.give_back(workspace, drawn)
        if self._held:
            self._held = bytearray()

    def refuse(self, refusal: Refusal) -> None:
        """Answer with a refusal. If another answer has begun already, reset the stream instead."""
        if self._answered:
            self._lane.reset(self, ErrorCodes.INTERNAL_ERROR)
            return
        admission = self._lane.ingestion.admission
        refused = with_allowance(refusal, self._allowance or admission.anonymous())
        self._answer(refusal_of(refused, refused.allowance, self.request_id))

    def _answer(self, answer: IngestionAnswer) -> None:
        self._give_back()
        head = self.head
        headers = answer.headers()
        headers.append((b"date", date()))
        if head.origin is not None:
            headers += self.cors(head, answer.status, headers)
        self._begin_answer(answer.status, headers)
        self._put(NOTHING if head.method == b"HEAD" else memoryview(answer.body), last=True)

    def answer_directly(self, direct: DirectAnswer) -> None:
        """Send an answer that the door gives instead of the application."""
        headers = [*direct.headers, (b"date", date())]
        if direct.body:
            headers.append((b"content-length", b"%d" % len(direct.body)))
        if self.head.origin is not None:
            headers += self.cors(self.head, direct.status, headers)
        self._begin_answer(direct.status, headers)
        self._put(NOTHING if self.head.method == b"HEAD" else memoryview(direct.body), last=True)

    def _begin_answer(self, status: int, headers: Headers) -> None:
        self._answered = True
        self.due = FOREVER
        self._lane.count(status)
        self._lane.head(self.number, status, headers)

    def _put(self, data: memoryview, last: bool) -> None:
        self.out = data
        self.last = last
        self._slice = 0
        if data:
            self._await(self._lane.limits.write_s)
        if data or last:
            self._lane.send(self)

    def sent(self, size: int) -> None:
        """Note that `size` bytes of the answer were sent."""
        self.out = self.out[size:]
        self._slice += size
        if self.out:
            if self._slice >= SLICE_BYTES:
                self._slice = 0
                self._await(self._lane.limits.write_s)
            return
        self.out = NOTHING
        self.due = FOREVER
        self._keep_no_more()
        if self.last:
            self._complete = True
            self._finish()
        elif self._exchange is not None:
            self._exchange.flushed()
            self._await_body()

    def _await_body(self) -> None:
        """If the application waits for the body, give the client time to send more of it."""

    def keep(self, untaken: UntakenAnswers, account: str) -> None:
        """Count the unsent part of the answer against the budget until the client has taken it."""
        size = len(self.out)
        if size:
            untaken.draw(account, size, must=True)
            self._kept = (untaken, account, size)

    def _keep_no_more(self) -> None:
        kept, self._kept = self._kept, None
        if kept is not None:
            untaken, account, size = kept
            untaken.give_back(account, size)

    def _finish(self) -> None:
        """End the request after its answer. If the client is still sending the body, wait for the rest of
        the body first."""
        if not self._complete or self._exchange is not None:
            return
        if self.ended:
            self._lane.over(self)
        else:
            self._await(self._lane.limits.body_s)
            # When `http2_drain_bytes` more bytes have come, `_drain` resets the stream. So the window
            # must be larger than `http2_drain_bytes`. With a smaller window, a client with a long body
            # would use up its window before the reset, and wait for a window update that never comes.
            self._allow(self._came + self._lane.limits.http2_drain_bytes + STREAM_WINDOW)
            self._came = 0

    def _drain(self) -> None:
        if self.ended:
            self._lane.over(self)
        elif self._came >= self._lane.limits.http2_drain_bytes:
            self._lane.reset(self, ErrorCodes.NO_ERROR)

    def cors(self, head: Head, status: int, own: Headers) -> Headers:
        return self._lane.ingestion.cors.headers(head.method, head.index, status, own)
