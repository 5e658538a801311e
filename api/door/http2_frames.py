"""The frames of an HTTP/2 connection. The door bounds the sizes and the cost of frames before `h2` gets
the frames.

Without these bounds, `h2` would buffer any number of bytes, and answer any number of frames.
"""

from h2.errors import ErrorCodes

from api.door.framing import MAX_HEAD, PREFACE
from api.door.limits import Limits

DATA, HEADERS, PRIORITY, RST_STREAM, SETTINGS, PUSH, PING, GOAWAY, WINDOW, CONTINUATION = range(10)
END_STREAM = 0x1
END_HEADERS = 0x4
HEADER_BYTES = 9  # of a frame
# The most frames in which the door searches for a request's body. The search takes at most 30 us. If the
# door finds the body, it serves the request without `h2`, which saves 100 us.
LOOK_AHEAD = 128
FRAME_BYTES = 16 * 1024  # of a payload: the protocol's default, which this server keeps
# The limit on the CONTINUATION frames of one header block. Real clients fill each frame before they begin
# the next frame, so even the largest block needs only two frames.
CONTINUATIONS = 8
# A dozen settings are defined, and browsers send one or two more.
SETTINGS_ENTRIES = 32
ENTRY_BYTES = 6

# Costs are in units of about 25 us of CPU, measured with `h2` 4.4.
REQUEST_COST = 4  # for a header block, besides its bytes
BLOCK_BYTES = 128  # of a header block, for one unit: Huffman's code is decoded in Python
SETTINGS_COST = 2  # it changes every open stream's window, and needs an answer
# A client's frames use up units of its credit. Useful work restores units, so that the client can send as
# many frames as its work needs.
PAID_BODY_BYTES = 64  # of a wanted body, for one unit: a body in single bytes uses up the credit
PAID_ANSWER_BYTES = 1024  # of an answer, for one unit: Go sends two window updates for every 4 KiB
PAID_REQUEST = 8  # besides the cost of its header block: for its window updates, and a PING


class RefusedError(Exception):
    """The connection must end with the error `code`."""

    def __init__(self, code: ErrorCodes) -> None:
        super().__init__(code.name)
        self.code = code


class Frames:
    """The bytes of one connection that have arrived and that `take` has not returned yet. Owner: the
    connection.

    `credit`: how much the client's next frames can cost. Useful work restores credit, and so does time.
    """

    __slots__ = (
        "_at",
        "_credit_s",
        "_data",
        "_found",
        "_limits",
        "_preface",
        "cost",
        "credit",
        "taken",
    )

    def __init__(self, limits: Limits, now: float) -> None:
        self._limits = limits
        self._data = b""
        self._at = 0
        self._found = 0  # the start of the frame that `find_body` found
        self._preface = True  # the connection preface has not come yet
        self.cost = 0  # of the frame last taken
        self.taken = 0
        self.credit = float(limits.http2_credit)
        self._credit_s = now

    @property
    def held(self) -> int:
        return len(self._data) - self._at

    def feed(self, data: bytes, now: float) -> None:
        """Add bytes that have arrived."""
        self._data = self._data[self._at :] + data if self.held else data
        self._at = 0
        self.pay((now - self._credit_s) * self._limits.http2_credit_a_second)
        self._credit_s = now

    def pay(self, units: float) -> None:
        """Restore credit for useful work."""
        self.credit = min(self.credit + units, float(self._limits.http2_credit))

    def take(self) -> bytes:
        """Return the next frame, or a header block with all of its frames. Returns b"" if the frame or
        the block is not complete yet. Raises RefusedError."""
        data, at = self._data, self._at
        if self._preface:
            if data[: len(PREFACE)] != PREFACE[: len(data)]:
                raise RefusedError(ErrorCodes.PROTOCOL_ERROR)
            if len(data) < len(PREFACE):
                return b""
            self._preface = False
            self._at = len(PREFACE)
            return PREFACE
        if len(data) - at < HEADER_BYTES:
            return b""
        kind, flags = data[at + 3], data[at + 4]
        size = _size(data, at)
        end = at + HEADER_BYTES + size
        cost, frames = 1, 1
        if kind == HEADERS:
            if flags & END_HEADERS:
                cost = REQUEST_COST + size // BLOCK_BYTES
            else:
                end, cost, frames = self._block(at)
        elif kind == SETTINGS:
            if size > SETTINGS_ENTRIES * ENTRY_BYTES:
                raise RefusedError(ErrorCodes.ENHANCE_YOUR_CALM)
            cost = SETTINGS_COST + size // ENTRY_BYTES
        elif kind == PUSH:  # `h2` would collect it like a header block
            raise RefusedError(ErrorCodes.PROTOCOL_ERROR)
        if end > len(data):
            return b""
        self._at = end
        self.cost = cost
        self.taken += frames
        self.credit -= cost
        if self.credit < 0:
            raise RefusedError(ErrorCodes.ENHANCE_YOUR_CALM)
        return data[at:end]

    def find_body(self, number: bytes) -> bytes | None:
        """Return the body of the stream `number` if the whole body has arrived in one frame. Other frames
        can come before that frame: a client with many requests sends several heads before the bodies.
        `take_body` then takes the frame."""
        data, at = self._data, self._at
        for _ in range(LOOK_AHEAD):
            begin = at + HEADER_BYTES
            if begin > len(data):
                return None
            end = begin + (data[at] << 16 | data[at + 1] << 8 | data[at + 2])
            kind, flags = data[at + 3], data[at + 4]
            if data[at + 5 : begin] == number:
                if (
                    kind != DATA
                    or flags != END_STREAM
                    or end > len(data)
                    or end - begin > FRAME_BYTES
                ):
                    return None
                self._found = at
                return data[begin:end]
            if kind != DATA and kind != WINDOW and not (kind == HEADERS and flags & END_HEADERS):
                return None  # a frame that affects all streams must be handled in order
            at = end
        return None

    def take_body(self) -> None:
        """Take the frame that `find_body` found. Raises RefusedError."""
        at, whole = self._at, self._data
        self._data, self._at = whole[self._found :], 0
        self.take()
        if self._found > at:
            self._data, self._at = whole[at : self._found] + self._data[self._at :], 0

    def _block(self, at: int) -> tuple[int, int, int]:
        data = self._data
        stream = data[at + 5 : at + 9]
        whole = 0
        for frames in range(1, CONTINUATIONS + 2):
            size = _size(data, at)
            whole += size
            if whole > MAX_HEAD:
                raise RefusedError(ErrorCodes.ENHANCE_YOUR_CALM)
            last = data[at + 4] & END_HEADERS
            at += HEADER_BYTES + size
            if last or len(data) - at < HEADER_BYTES:
                end = at if last else len(data) + 1
                return end, REQUEST_COST + frames + whole // BLOCK_BYTES, frames
            if data[at + 3] != CONTINUATION or data[at + 5 : at + 9] != stream:
                raise RefusedError(ErrorCodes.PROTOCOL_ERROR)
        raise RefusedError(ErrorCodes.ENHANCE_YOUR_CALM)


def _size(data: bytes, at: int) -> int:
    """Return the size of a frame's payload, which need not have arrived. Raises RefusedError if the size
    is too large."""
    size = data[at] << 16 | data[at + 1] << 8 | data[at + 2]
    if size > FRAME_BYTES:
        raise RefusedError(ErrorCodes.FRAME_SIZE_ERROR)
    return size


# The budget for the frames of all connections in one pass of the reactor, in units of 25 us. The whole
# budget is about 6 ms. A pass can exceed the budget, because a connection's share depends on the number
# of connections in the pass before, and is never less than LEAST_COST.
PASS_COST = 256
LEAST_COST = 8  # of one connection: a request or two, as many as over HTTP/1.1
MOST_COST = 64  # of one connection: a dozen requests, 1.5 ms


class Turns:
    """The share of each connection in the work of one pass of the reactor. All connections have an equal
    share of PASS_COST, within LEAST_COST and MOST_COST. Owner: the door."""

    __slots__ = ("_at_work", "_pass", "_share")

    def __init__(self) -> None:
        self._pass = -1
        self._at_work = 0  # connections that had a turn in this pass so far
        self._share = MOST_COST

    def begin(self, number: int) -> int:
        """Begin the turn of a connection in the reactor's pass `number`. Return how much the connection's
        frames can cost in this turn."""
        if number != self._pass:
            self._share = max(LEAST_COST, min(MOST_COST, PASS_COST // max(1, self._at_work)))
            self._pass, self._at_work = number, 0
        self._at_work += 1
        return self._share
