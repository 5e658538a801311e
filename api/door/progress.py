"""How a body comes along: how long its client may keep us waiting for it. Nothing here does I/O."""

from api.door.limits import Limits


class Progress:
    """Of one body. Only the time counts in which its client was waited for."""

    __slots__ = ("_came", "_limits", "_since", "_waited", "streamed")

    def __init__(self, limits: Limits) -> None:
        self.streamed = False
        self._limits = limits
        self._came = 0
        self._waited = 0.0  # seconds, up to `_since`
        self._since: float | None = None  # waited for since then; None: not waited for

    def stream(self) -> None:
        """From now on it is enough that the body comes along."""
        self.streamed = True

    def wait(self, now: float) -> float:
        """The client is waited for from now on; return for how many seconds at most: until all should
        be here; of a body that is streamed, until nothing has come for a while, or what has come was
        too little for the time that it took."""
        self._count(now)
        self._since = now
        limits = self._limits
        if not self.streamed:
            return max(0.0, limits.body_s - self._waited)
        left = limits.stream_grace_s + self._came / limits.stream_floor - self._waited
        return max(0.0, min(limits.body_s, left))

    def came(self, size: int, now: float) -> None:
        """Bytes of the body have come, and the client is not waited for until `wait`."""
        self._count(now)
        self._since = None
        self._came += size

    def _count(self, now: float) -> None:
        if self._since is not None:
            self._waited += now - self._since
