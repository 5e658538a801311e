"""The way in to two intakes: while several tenants send, large batches are written beside what is small.

A batch becomes durable as a whole, so that its statement takes as long as it has rows, and whoever came
behind it waited for so long. Nothing here awaits.
"""

from collections.abc import Callable

from msgspec import structs

from engine.core.records import Event
from engine.intake.company import Company
from engine.intake.entrance import Entrance
from engine.intake.group import IntakeStatistics
from engine.intake.intake import Intake
from engine.intake.queue import environment_of
from engine.ports import Claimed
from engine.submission.submission import Submission

LARGE_ROWS = 100  # events and deliveries of a submission: so many take some 2 ms


class Intakes:
    """Owner of the choice. `small` takes everything but large submissions of who is not alone."""

    def __init__(self, small: Intake, large: Intake, *, large_rows: int = LARGE_ROWS) -> None:
        self.small, self.large = small, large
        self._large_rows = large_rows
        self.company = Company()
        small.hands.beside(large.hands)

    def submit(self, submission: Submission) -> None:
        """Queue a submission for a group, or refuse it at once."""
        environment = environment_of(submission)
        self.company.sent(environment)
        large = submission.weight >= self._large_rows and self.company.beside(environment)
        # Where its one connection cannot be had all goes on as if there were no second intake.
        if large and not self.large.away:
            self.large.submit(submission)
        else:
            self.small.submit(submission)

    @property
    def entrance(self) -> Entrance:
        """The way in for what is requeued or replayed: a few hundred at a time."""
        return self.small.entrance

    def nudge(self) -> None:
        """Look for what is to be done beside events."""
        self.small.nudge()

    def hear(self, accepted: Callable[[list[Event], dict[str, Claimed]], None]) -> None:
        """Have `accepted` told of each group's events, with those of them that were not written."""
        self.small.on_accepted = self.large.on_accepted = accepted

    def close(self) -> None:
        """Refuse everything from now on; what waits is still committed."""
        self.small.close()
        self.large.close()

    @property
    def away(self) -> bool:
        """Whether nothing can be accepted: the small one is asked, which takes what the other cannot."""
        return self.small.away

    def statistics(self) -> IntakeStatistics:
        """Return what happened so far, in both."""
        one, other = self.small.statistics(), self.large.statistics()
        sums = {
            name: getattr(one, name) + getattr(other, name)
            for name in one.__struct_fields__
            if name != "away"
        }
        return structs.replace(one, **sums, away=self.away)
