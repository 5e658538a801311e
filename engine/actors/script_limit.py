"""The limit of attempts that wait for their scripts: a workspace with many of these begins no more.

Otherwise a workspace with slow scripts would fill all slots for attempts, and no other workspace's
deliveries would begin.
"""

from itertools import islice
from typing import Protocol

from engine.core.destination import Destination

# Five times the runs that one workspace can have at once, so that no worker waits while an engine has
# work; one in forty of the places that all workspaces share.
MOST = 256
WOKEN = 2  # by each attempt that goes: as many as would fill what it left, and one more
_ASLEEP, _AWAKE = False, True


class Member(Protocol):
    """An actor that begins the attempts of one destination."""

    config: Destination

    def wake(self) -> None:
        """Ask for a turn."""


class ScriptLimit:
    """Owner of the counts, and of the actors that wait. All calls are made by the trio thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._counts: dict[str, int] = {}
        self._full: set[str] = set()  # until half of them have gone
        self._held: dict[str, dict[Member, bool]] = {}  # in the order in which they came

    def came(self, workspace: str) -> None:
        """Count an attempt that is to have its script run."""
        count = self._counts[workspace] = self._counts.get(workspace, 0) + 1
        if count >= self._most:
            self._full.add(workspace)

    def went(self, workspace: str) -> None:
        """Count one less: its script has run, or never will."""
        count = self._counts[workspace] - 1
        if count:
            self._counts[workspace] = count
        else:
            del self._counts[workspace]
        if count <= self._most // 2:
            self._full.discard(workspace)
        if workspace in self._held and workspace not in self._full:
            self._wake(workspace, count)

    def holds(self, member: Member) -> bool:
        """Return whether `member` has to wait. Then it is woken when it need not any more."""
        if not self._full and not self._held:
            return False
        config = member.config
        if config.transform is None or config.workspace not in self._full:
            self.leave(member)
            return False
        # Who was woken in vain keeps its place, or those who come late would be served for ever.
        self._held.setdefault(config.workspace, {})[member] = _ASLEEP
        return True

    def leave(self, member: Member) -> None:
        """Forget who is gone, or may go on."""
        held = self._held.get(member.config.workspace)
        if held is not None:
            held.pop(member, None)
            if not held:
                del self._held[member.config.workspace]

    def _wake(self, workspace: str, count: int) -> None:
        """Wake as many waiters as there are places. Wake all if no run is left whose end would wake
        more."""
        held = self._held[workspace]
        asleep = (member for member, awake in held.items() if not awake)
        for member in list(islice(asleep, None if not count else WOKEN)):
            held[member] = _AWAKE
            member.wake()
