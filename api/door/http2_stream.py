"""One HTTP/2 request, from its head to the end of its answer.

The stream's window bounds the bytes of the body that the request holds. The request holds at most
SLICE_BYTES of an answer from the application. Nothing here awaits.
"""

from h2.errors import ErrorCodes

from api.admission import AdmissionRefusal
from api.cors import Headers
from api.door.exchange import Exchange
from api.door.framing import Head
from api.door.http2_answers import FOREVER, NOTHING, StreamAnswering
from api.door.http2_exchange import StreamExchange
from api.door.http2_lane import RequestLane
from api.door.http2_protocol import STREAM_WINDOW
from api.door.limits import LIMITS, NO_WORKSPACE, SLICE_BYTES
from api.door.passing import Progress
from api.door.request_relay import UNKNOWN
from api.entry import Entry
from api.envelope import body_late, internal_error, no_room, too_large
from api.heads import DirectAnswer
from api.ingestion import PATHS, Admitted, answer_of
from engine.ingest.ingest import Reply
from engine.model.errors import Refusal

NO_PROGRESS = Progress(LIMITS)  # the progress of a request whose body the application does not take
WINDOW_STEP_BYTES = 16 * 1024  # of a taken body, for one window update; fewer are not worth a frame
UPLOADS_SHARE = 4  # a stream gets a large window if the budget has room for this many


class StreamRequest(StreamAnswering):
    """Owner: the request's connection."""

    __slots__ = (
        "_end_given",
        "_fed",
        "_invited",
        "_progress",
        "_submitted",
        "_waiting",
    )

    def __init__(self, lane: RequestLane, number: int, head: Head, ended: bool) -> None:
        super().__init__(lane, number, head, ended)
        self._progress = NO_PROGRESS
        self._end_given = False  # the application has got the end of the body
        self._fed = 0  # bytes given to the application and not yet added to the client's window
        self._waiting = False  # the application waits for more
        self._submitted = False
        self._invited = not head.expects_continue

    # --- what comes from the client

    def begin(self, admitted: Admitted | None, body: bytes = b"") -> None:
        """Decide from the head who serves the request: ingestion, the application or another worker.
        `admitted`: the admission of an earlier request with an equal head. This admission can be valid
        for this request too. `body`: the whole body, if it came with the head."""
        head = self.head
        request_relay = self._lane.request_relay
        if request_relay is not None and admitted is None:
            part = request_relay.part_of(head.index)
            if part is not None:
                self._pass(part, body)
                return
        batch = PATHS.get(head.path)
        if batch is None or head.method != b"POST":
            self._pass()
            return
        lane = self._lane
        length = None if head.chunked else head.length
        if length is None and self.ended:
            length = len(body)
        try:
            if admitted is None or not lane.ingestion.judge_again(admitted):
                admitted = lane.ingestion.judge(batch, head.query, head.index, length)
        except AdmissionRefusal as refusal:
            lane.know(False)
            self.refuse(refusal)
            return
        lane.know(True)
        # Do not reuse the admission of a request with an Origin: the allowed origins can change.
        lane.admitted = admitted if head.origin is None else None
        self._admitted = admitted
        self._allowance = admitted.allowance
        if self.ended:
            self._receive(admitted, body)
            return
        self._await(lane.limits.body_s)
        if length is not None and length > self._allowed:
            self._allow(length)
        self.invite()

    def came(self, data: bytes, size: int, ended: bool) -> None:
        """Take the part `data` of the body. With its padding, it used `size` bytes of the window."""
        self.ended = ended
        self._came += size
        admitted = self._admitted
        if self._exchange is not None:
            if size > len(data) and not ended:  # padding, which the application never takes
                self._allow(self._allowed + size - len(data))
            self._receive_passed(self._exchange, data)
        elif admitted is not None and not self._answered:
            self._receive(admitted, data)
        elif self._complete:
            self._drain()

    def end(self) -> None:
        """End the body, with no more bytes."""
        if not self.ended:
            self.came(b"", 0, True)

    def gone(self) -> None:
        """The client has reset the stream, or the connection is lost."""
        self.due = FOREVER
        self.out = NOTHING
        self._keep_no_more()
        self._answered = True
        if not self._submitted:  # a submitted body is still in use by Ingest
            self._give_back()
        exchange, self._exchange = self._exchange, None
        if exchange is not None:
            exchange.lost()

    def expired(self, now: float) -> None:
        """The deadline has passed."""
        self.due = FOREVER
        if self.out:
            self._lane.stalled(self)
        elif self._complete:
            self._lane.reset(self, ErrorCodes.NO_ERROR)
        elif self._exchange is not None:
            exchange, self._exchange = self._exchange, None
            exchange.lost()
            exchange.cancel()
            self.refuse(body_late())
        elif not self._submitted:
            self.refuse(body_late())

    # --- ingestion

    def _receive(self, admitted: Admitted, data: bytes) -> None:
        if len(self._held) + len(data) > admitted.limit:
            self.refuse(too_large(admitted.limit))
            return
        if data and not self._lane.ingestion.bodies.draw(admitted.workspace, len(data)):
            self.refuse(no_room())
            return
        self._drawn += len(data)
        self._held += data
        if self.ended:
            self._submit(admitted)
        elif self._allowed - self._came < STREAM_WINDOW // 2:
            # Widen the window: the client can then send as many further bytes as it has sent so far, up
            # to the body's limit. It can always send at least STREAM_WINDOW further bytes. In all, this
            # can be more than the limit. `_receive` refuses a body that exceeds the limit.
            self._allow(self._came + max(STREAM_WINDOW, min(self._came, admitted.limit)))

    def _submit(self, admitted: Admitted) -> None:
        body = bytes(self._held)
        self._held = bytearray()
        self.due = FOREVER
        self._submitted = True
        try:
            self._lane.ingestion.ingest.submit(
                admitted.environment,
                body,
                admitted.batch,
                self._replied,
                admitted.hops,
                admitted.key,
                admitted.trace,
            )
        except Exception as error:  # an error ends one request, not the connection
            self._submitted = False
            self._lane.fault(error)
            self.refuse(internal_error())

    def _replied(self, reply: Reply) -> None:
        self._give_back()
        self._submitted = False
        if self._admitted is not None and not self._answered:
            self._answer(answer_of(reply, self._admitted, self.request_id))

    # --- requests that the application answers

    def _pass(self, part: int | None = None, body: bytes = b"") -> None:
        """Pass the request to the application. With `part`, pass it to the worker of that part of the
        workspaces instead."""
        head, heads = self.head, self._lane.heads
        entry: Entry | None = None
        if part == UNKNOWN:
            self._lane.know(False)
        elif part is None and heads is not None:
            judged = heads.judge(
                head.method, head.path, head.query, head.fields, head.stated_length, self.request_id
            )
            self._lane.know(isinstance(judged, Entry) and judged.admission is not None)
            if isinstance(judged, DirectAnswer):
                self.answer_directly(judged)
                return
            entry = judged
        self._progress = Progress(self._lane.limits)
        exchange = self._exchange = StreamExchange(self, head, self.request_id, entry)
        exchange.part = part
        if body:
            self._receive_passed(exchange, body)
            if self._exchange is not exchange:
                return
        if self.ended and not self._end_given:
            self._end_given = True
            exchange.end()
        else:
            self._await(self._progress.wait(self._lane.now()))
        self._lane.pass_on(exchange)

    def _receive_passed(self, exchange: Exchange, data: bytes) -> None:
        progress = self._progress
        progress.came(len(data), self._lane.now())
        if data and not progress.streamed:  # of a streamed body, the application draws the bytes
            if not self._lane.ingestion.bodies.draw(NO_WORKSPACE, len(data)):
                self._exchange = None
                exchange.lost()
                exchange.cancel()
                self.refuse(no_room())
                return
            self._drawn += len(data)
        self._held += data
        if not self.out:  # while an answer is sent, `due` is the answer's deadline
            self.due = FOREVER
        self._feed(exchange)
        self._await_body()

    def _await_body(self) -> None:
        if self._waiting and not self.ended and not self.out:
            self._await(self._progress.wait(self._lane.now()))

    def _feed(self, exchange: Exchange) -> None:
        if self._held and (self._waiting or (self.ended and not exchange.buffered)):
            self._waiting = False
            piece = bytes(self._held[:SLICE_BYTES])
            del self._held[:SLICE_BYTES]
            self._fed += len(piece)
            exchange.feed(piece)
        if self.ended and not self._held and not self._end_given:
            self._end_given = True
            exchange.end()

    def resume(self) -> None:
        exchange = self._exchange
        if exchange is None:
            return
        self._waiting = True
        if not self.ended and (self._fed >= WINDOW_STEP_BYTES or self._allowed == self._came):
            fed, self._fed = self._fed, 0
            self._allow(self._allowed + fed)
        self._feed(exchange)
        self._await_body()

    def stream(self, exchange: Exchange) -> None:
        """Begin to stream the body to the application.

        From now on the application's budget counts the bytes of the body. So this call gives back all
        that the body has drawn from the door's budget. From now on, the client can send the body slowly
        (see `Progress`). If the door's budget has room, a long body gets a larger window. This call draws
        the addition to the window from the door's budget.
        """
        if self._exchange is not exchange:
            return
        held, self._held = self._held, bytearray()
        self._give_back()
        self._held = held
        self._progress.stream()
        if self.ended:
            return
        more = self._lane.limits.http2_upload_bytes - STREAM_WINDOW
        bodies = self._lane.ingestion.bodies
        long = self.head.chunked or self.head.length - self._came > STREAM_WINDOW
        if long and bodies.has_room(NO_WORKSPACE, more * UPLOADS_SHARE):
            bodies.draw(NO_WORKSPACE, more)
            self._drawn += more
            self._allow(self._allowed + more)
        self._await_body()

    def invite(self) -> None:
        if not self._invited and not self.ended and not self._answered:
            self._invited = True
            self._lane.head(self.number, 100, [])

    def may_keep(self) -> bool:
        """Always True: the end of a stream does not end the connection."""
        return True

    def head_answer(self, status: int, headers: Headers) -> None:
        self._begin_answer(status, headers)

    def write_body(self, data: bytes, last: bool) -> bool:
        self._put(memoryview(data), last)
        return not self.out

    def write_answer(self, data: bytes) -> bool:
        """Only HTTP/1.1 uses it."""
        raise NotImplementedError

    def exchanged(self, exchange: Exchange, whole: bool) -> None:
        if self._exchange is not exchange:
            return
        self._exchange = None
        self._give_back()
        if exchange.part is not None:
            self._lane.know(exchange.admitted)
        if whole:
            self._finish()
        else:
            self._lane.reset(self, ErrorCodes.INTERNAL_ERROR)

    def exchange_refused(self, exchange: Exchange, refusal: Refusal) -> None:
        if self._exchange is exchange:
            self._exchange = None
            self._allowance = None if exchange.entry is None else exchange.entry.allowance
            self.refuse(refusal)
