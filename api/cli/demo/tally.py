"""What was sent and what arrived, and whether it is what was promised. No network, no clock."""

from dataclasses import dataclass, field


@dataclass(slots=True)
class DemoTally:
    """The counts of one act. Instants are seconds of any one clock."""

    expected: int
    accepted: int = 0
    verified: int = 0
    refused: int = 0  # webhooks whose signature was not genuine
    failures: int = 0  # attempts that the receiver answered with an error on purpose
    duplicates: int = 0
    unknown: int = 0
    order: list[int] = field(default_factory=list)  # numbers, in the order of their first success
    latencies_s: list[float] = field(default_factory=list)
    _sent: dict[int, float | None] = field(default_factory=dict)
    _arrived: set[int] = field(default_factory=set)

    def sent(self, number: int, now: float | None) -> None:
        """Note that an event is on its way to the service; without an instant it is not timed."""
        self._sent[number] = now

    def arrived(self, number: object, now: float) -> None:
        """Note that a genuine webhook came and was answered with success."""
        self.verified += 1
        if not isinstance(number, int) or number not in self._sent:
            self.unknown += 1
        elif number in self._arrived:
            self.duplicates += 1
        else:
            self._arrived.add(number)
            self.order.append(number)
            if (sent := self._sent[number]) is not None:
                self.latencies_s.append(now - sent)

    @property
    def complete(self) -> bool:
        """Whether everything that was to be sent has arrived."""
        return len(self._arrived) >= self.expected

    @property
    def missing(self) -> int:
        """How many events have not arrived."""
        return self.expected - len(self._arrived)

    def latency_ms(self, share: float) -> float | None:
        """Return a percentile of the time from sending to arrival; None before anything arrived."""
        if not self.latencies_s:
            return None
        ordered = sorted(self.latencies_s)
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    def problems(self, *, in_order: bool) -> list[str]:
        """Return what was not as promised; nothing when all was."""
        found = []
        if self.accepted != self.expected:
            found.append(f"{self.expected - self.accepted} of {self.expected} events not accepted")
        if self.missing:
            found.append(f"{self.missing} of {self.expected} events did not arrive")
        if self.refused:
            found.append(f"{self.refused} webhooks had no valid signature")
        if self.duplicates:
            found.append(f"{self.duplicates} webhooks came again after their success")
        if self.unknown:
            found.append(f"{self.unknown} webhooks were never sent by us")
        if in_order and self.order != sorted(self.order):
            found.append("events arrived out of order at a STRICT destination")
        return found
