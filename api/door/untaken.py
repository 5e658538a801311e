"""The byte budget of answers that were made and not taken by their clients yet: one for all callers.

Accounts are those of `api.door.places`. Nothing here awaits.
"""

from engine.model.errors import Refusal

# Smaller answers are not counted: a client's socket takes them as they are written, nearly always.
LEAST_BYTES = 4 * 1024
RETRY_AFTER_S = 2
TOO_MUCH_UNTAKEN = "too many bytes of answers wait to be read: read them, then try again"


class UntakenAnswers:
    """Owner of the budget: the trio thread. Both lanes of the door draw on it."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._drawn_by: dict[str, int] = {}
        self.drawn = 0
        self.refused = 0

    def has_room(self, account: str, size: int = LEAST_BYTES) -> bool:
        """Whether an account may have `size` bytes more: who has none may always, and who has some may
        have as many as that leaves free for others."""
        own = self._drawn_by.get(account, 0)
        return not own or own + size <= self._total - self.drawn

    def check(self, account: str) -> None:
        """Refuse a request that has not begun where its account reads too little. Raises Refusal 503."""
        if not self.has_room(account):
            self.refused += 1
            raise Refusal("overloaded", TOO_MUCH_UNTAKEN, retry_after_s=RETRY_AFTER_S)

    def draw(self, account: str, size: int, *, must: bool = False) -> bool:
        """Take `size` bytes; False, taking nothing, where there is no room and it is no `must`."""
        if not must and not self.has_room(account, size):
            self.refused += 1
            return False
        self._drawn_by[account] = self._drawn_by.get(account, 0) + size
        self.drawn += size
        return True

    def give_back(self, account: str, size: int) -> None:
        """Return what was drawn: the client has taken it, or is gone."""
        self.drawn -= size
        left = self._drawn_by[account] - size
        if left:
            self._drawn_by[account] = left
        else:
            del self._drawn_by[account]
