"""The limit on each workspace's attempts that wait for their scripts.

A workspace at the limit begins no more attempts with scripts. Otherwise a workspace with slow scripts
would fill all places for attempts.
"""

from itertools import islice
from typing import Protocol

from engine.core.destination import Destination

# The limit on the attempts of one workspace that wait for their scripts. The default script workers can
# hold 64 jobs together. The limit is four times as high, so that no worker lacks work. It is about one
# fortieth of all attempts that can be in flight by default.
MOST = 256
# How many held actors of a workspace are woken whenever one of its attempts stops waiting for its script.
# If no attempt of the workspace waits any more, all its held actors are woken. After a workspace has
# reached MOST waiting attempts, none of its actors is woken until only MOST / 2 attempts wait: then there
# is room for many attempts.
WOKEN = 2
_ASLEEP, _AWAKE = False, True


class Member(Protocol):
    """An actor that begins the attempts of one destination."""

    config: Destination

    def wake(self) -> None:
        """Ask for a turn."""


class ScriptLimit:
    """Owner of two records: how many attempts of each workspace wait for their scripts, and which actors
    the limit holds back. All calls are made on the trio thread."""

    def __init__(self, most: int = MOST) -> None:
        self._most = most
        self._counts: dict[str, int] = {}
        # The workspaces whose count of waiting attempts has reached the limit. A workspace is removed
        # when this count has fallen to half the limit.
        self._full: set[str] = set()
        self._held: dict[str, dict[Member, bool]] = {}  # in order of arrival; True: woken

    def entered(self, workspace: str) -> None:
        """Count an attempt that waits for its script."""
        count = self._counts[workspace] = self._counts.get(workspace, 0) + 1
        if count >= self._most:
            self._full.add(workspace)

    def left(self, workspace: str) -> None:
        """Count an attempt whose script has run, or never will."""
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
        """Return whether `member` must begin no attempt now. If so, `member` is woken when it can begin
        attempts again."""
        if not self._full and not self._held:
            return False
        config = member.config
        if config.transform is None or config.workspace not in self._full:
            self.leave(member)
            return False
        # A member that must wait again keeps its position in the queue.
        self._held.setdefault(config.workspace, {})[member] = _ASLEEP
        return True

    def leave(self, member: Member) -> None:
        held = self._held.get(member.config.workspace)
        if held is not None:
            held.pop(member, None)
            if not held:
                del self._held[member.config.workspace]

    def _wake(self, workspace: str, count: int) -> None:
        """Wake WOKEN of the actors that this limit holds back in a workspace. `count` is how many
        attempts of the workspace still wait for their scripts. If `count` is 0, wake all held actors:
        actors are woken only when a script ends, and the workspace has no more scripts to wait for."""
        held = self._held[workspace]
        asleep = (member for member, awake in held.items() if not awake)
        for member in list(islice(asleep, None if not count else WOKEN)):
            held[member] = _AWAKE
            member.wake()
