"""The choice between two intakes: while several tenants send, large batches go to the second intake.

One statement makes a whole batch durable. With a single intake, the submissions of other tenants would
have to wait until the statement of a large batch ends.
"""

import structlog
import trio
from msgspec import structs

from engine.intake.entries import EntryQueue
from engine.intake.group import IntakeStatistics
from engine.intake.intake import Intake
from engine.submission.recent_senders import RecentSenders
from engine.submission.submission import OVERLOADED, Submission

log = structlog.get_logger("angarium.intake")

LARGE_ROWS = 100  # events and deliveries of a submission; these take some 2 ms


class Intakes:
    """Passes each submission to one of two intakes. While several environments send, the intake `large`
    gets the large submissions. The intake `small` gets all other submissions."""

    def __init__(self, small: Intake, large: Intake, *, large_rows: int = LARGE_ROWS) -> None:
        self.small, self.large = small, large
        self._large_rows = large_rows
        self._owns = small.entries.owns
        self.senders = RecentSenders(trio.lowlevel.current_clock().current_time)
        small.locks.pair_with(large.locks)

    def submit(self, submission: Submission) -> None:
        environment = submission.environment
        if self._owns is not None and not self._owns(environment):
            log.error("intake.not_ours", environment=environment)  # another worker has it
            submission.settle(OVERLOADED)
            return
        self.senders.sent(environment)
        large = submission.weight >= self._large_rows and self.senders.others_than(environment)
        if large and not self.large.away:
            self.large.submit(submission)
        else:
            self.small.submit(submission)

    @property
    def entries(self) -> EntryQueue:
        """The entry queue, for requeued and replayed deliveries."""
        return self.small.entries

    def close(self) -> None:
        """Refuse new submissions. Those that wait are still committed."""
        self.small.close()
        self.large.close()

    @property
    def away(self) -> bool:
        """True if nothing can be accepted, because the small intake is away. If only the large intake is
        away, the small intake takes its submissions."""
        return self.small.away

    def statistics(self) -> IntakeStatistics:
        """Return the sums of both intakes' counts."""
        one, other = self.small.statistics(), self.large.statistics()
        sums = {
            name: getattr(one, name) + getattr(other, name)
            for name in one.__struct_fields__
            if name != "away"
        }
        return structs.replace(one, **sums, away=self.away)
