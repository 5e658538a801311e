"""Event type patterns: `names` compares one pattern with a type, `PatternIndex` searches many patterns.

A `*` stands for one segment between dots. At the end of a pattern, it stands for one or more segments.
A pattern that begins with `*` never matches the types of Angarium's own events (`angarium.`).

The index is a radix tree over segments, in which `*` is an edge of its own.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from typing import Generic, TypeVar

from engine.core.split_table import SplitTable

T = TypeVar("T")

ANY = "*"
OWN = "angarium."
# The steps of a look-up between two pauses, some 0.3 ms of work. A step is a visited node of the tree, a
# compared segment or a found entry.
SLICE_STEPS = 1_000


class Steps:
    """Counts the work of one look-up, and calls `pause` after each slice of it."""

    __slots__ = ("_pause", "_slice_ends", "count")

    def __init__(self, pause: Callable[[], None] | None = None) -> None:
        self.count = 0
        self._pause = pause
        self._slice_ends = SLICE_STEPS

    def spend(self, steps: int) -> None:
        self.count += steps
        if self.count >= self._slice_ends:
            self._slice_ends = self.count + SLICE_STEPS
            if self._pause is not None:
                self._pause()


class _Node(Generic[T]):
    """A node of the tree. `label`: the segments that lead here from the node above, joined by dots.

    A node's label never changes. If an edge is split or joined, a new node with the same entries
    replaces the old one, so a look-up that paused at the old node can go on.
    """

    __slots__ = ("ends", "label", "literals", "star", "tails")

    def __init__(self, label: str, like: "_Node[T] | None" = None) -> None:
        self.label = label
        self.literals: dict[str, _Node[T]] = {} if like is None else like.literals
        self.star: _Node[T] | None = None if like is None else like.star
        self.ends: SplitTable[T] = SplitTable() if like is None else like.ends
        # of patterns that go on with a last `*`
        self.tails: SplitTable[T] = SplitTable() if like is None else like.tails

    @property
    def bare(self) -> bool:
        return not self.ends and not self.tails

    def child(self, segment: str) -> "_Node[T] | None":
        return self.star if segment == ANY else self.literals.get(segment)

    def put(self, segment: str, child: "_Node[T] | None") -> None:
        if segment == ANY:
            self.star = child
        elif child is None:
            del self.literals[segment]
        else:
            self.literals[segment] = child

    def only_child(self) -> "_Node[T] | None":
        if self.star is not None:
            return None if self.literals else self.star
        return next(iter(self.literals.values())) if len(self.literals) == 1 else None


class PatternIndex(Generic[T]):
    """Entries by id. A look-up finds an entry if one of the entry's patterns matches the event type.

    The index can change while a look-up pauses. The look-up finds all entries that have not changed
    since it began. It may miss the changes.
    """

    __slots__ = ("_patterns", "_root")

    def __init__(self) -> None:
        self._root: _Node[T] = _Node("")
        self._patterns: SplitTable[tuple[str, ...]] = SplitTable()

    def __len__(self) -> int:
        return len(self._patterns)

    # --- changes

    def put(self, identifier: str, patterns: Iterable[str], entry: T) -> None:
        wanted = tuple(dict.fromkeys(patterns))
        for pattern in set(self._patterns.get(identifier) or ()).difference(wanted):
            self._drop(pattern, identifier)
        for pattern in wanted:
            self._entries_of(pattern).put(identifier, entry)
        self._patterns.put(identifier, wanted)

    def remove(self, identifier: str) -> None:
        """Forget an entry; harmless when it is unknown."""
        for pattern in self._patterns.pop(identifier) or ():
            self._drop(pattern, identifier)

    def _entries_of(self, pattern: str) -> SplitTable[T]:
        """Return the entries of the tree's node where a pattern ends. Create the missing nodes."""
        parts, tail = parts_of(pattern)
        node, at = self._root, 0
        while at < len(parts):
            child = node.child(parts[at])
            if child is None:
                child = _Node(".".join(parts[at:]))
                node.put(parts[at], child)
                at = len(parts)
            else:
                labels = child.label.split(".")
                same = _same(labels, parts, at)
                if same < len(labels):
                    child = self._split(node, child, labels, same)
                at += same
            node = child
        return node.tails if tail else node.ends

    @staticmethod
    def _split(above: _Node[T], child: _Node[T], labels: list[str], same: int) -> _Node[T]:
        middle: _Node[T] = _Node(".".join(labels[:same]))
        middle.put(labels[same], _Node(".".join(labels[same:]), child))
        above.put(labels[0], middle)
        return middle

    def _drop(self, pattern: str, identifier: str) -> None:
        parts, tail = parts_of(pattern)
        path: list[tuple[_Node[T], str]] = []
        node, at = self._root, 0
        while at < len(parts):
            path.append((node, parts[at]))
            child = node.child(parts[at])
            assert child is not None
            node, at = child, at + child.label.count(".") + 1
        (node.tails if tail else node.ends).pop(identifier)
        if not path or not node.bare:
            return
        above, segment = path[-1]
        if not node.literals and node.star is None:
            above.put(segment, None)
            if len(path) > 1 and above.bare:
                self._join(*path[-2], above)
        else:
            self._join(above, segment, node)

    @staticmethod
    def _join(above: _Node[T], segment: str, node: _Node[T]) -> None:
        """Merge a node with its child if the node has only one child. Call this only for a node at which
        no pattern ends (see `bare`)."""
        only = node.only_child()
        if only is not None:
            above.put(segment, _Node(f"{node.label}.{only.label}", only))

    # --- look-ups

    def find(self, event_type: str, steps: Steps | None = None) -> list[T]:
        """Return, in no particular order, the entries with a pattern that matches the event type.

        The look-up visits each node of the tree at most once. It never compares more segments than all
        patterns have together.
        """
        found: dict[str, T] = {}
        for entries, portion in self._portions(event_type, Steps() if steps is None else steps):
            found.update(entries.found(portion))
        return list(found.values())

    def portions(self, event_type: str, steps: Steps) -> Iterator[list[T]]:
        """Yield the entries that `find` returns, in slices, because there can be a million.

        An entry comes several times if several of its patterns match the event type.
        """
        for entries, portion in self._portions(event_type, steps):
            yield [entry for _, entry in entries.found(portion)]

    def _portions(self, event_type: str, steps: Steps) -> Iterator[tuple[SplitTable[T], list[str]]]:
        """Yield the ids of the found entries in slices, each with the table in which these entries are.
        During a pause, entries can be removed from the table, so an id may no longer be in it."""
        for entries in self._found(event_type, steps):
            identifiers = entries.ids()
            while portion := list(islice(identifiers, SLICE_STEPS)):
                steps.spend(len(portion))
                yield entries, portion

    def _found(self, event_type: str, steps: Steps) -> Iterator[SplitTable[T]]:
        segments = event_type.split(".")
        starts = _starts(segments)
        length, depths = len(event_type), len(segments)
        own = event_type.startswith(OWN)
        root = self._root
        if root.tails and not own and length:
            yield root.tails
        visits = [(root.literals.get(segments[0]), 0)]
        if not own and segments[0]:
            visits.append((root.star, 0))
        while visits:
            node, depth = visits.pop()
            if node is None:
                continue
            label = node.label
            if ANY in label:
                parts = label.split(".")
                steps.spend(len(parts))
                depth = _after(parts, segments, depth)
                if depth < 0:
                    continue
            else:
                steps.spend(1)
                end = starts[depth] + len(label)
                if not event_type.startswith(label, starts[depth]):
                    continue
                if end < length and event_type[end] != ".":
                    continue
                depth += label.count(".") + 1
            if depth == depths:
                if node.ends:
                    yield node.ends
                continue
            if node.tails and starts[depth] < length:
                yield node.tails
            segment = segments[depth]
            visits.append((node.literals.get(segment), depth))
            if segment:
                visits.append((node.star, depth))


def names(pattern: str, event_type: str) -> bool:
    """Return True if a pattern matches an event type. `PatternIndex` has the same rules."""
    if ANY not in pattern:
        return pattern == event_type
    if event_type.startswith(OWN) and not pattern.startswith(OWN):
        return False
    parts, tail = parts_of(pattern)
    segments = event_type.split(".")
    depth = _after(parts, segments, 0)
    if depth < 0 or not tail:
        return depth == len(segments)
    return _starts(segments)[depth] < len(event_type)


def parts_of(pattern: str) -> tuple[list[str], bool]:
    """Return a pattern's segments without the `*` at the end, and whether the pattern ends with `*`."""
    parts = pattern.split(".")
    if parts[-1] != ANY:
        return parts, False
    parts.pop()
    return parts, True


def _same(labels: list[str], parts: list[str], at: int) -> int:
    for place, label in enumerate(labels):
        if at + place == len(parts) or parts[at + place] != label:
            return place
    return len(labels)


def _starts(segments: list[str]) -> list[int]:
    """Return the index of each segment's first character in the event type. The last item is the index
    where a further segment would begin."""
    starts = [0]
    for segment in segments:
        starts.append(starts[-1] + len(segment) + 1)
    return starts


def _after(parts: list[str], segments: list[str], depth: int) -> int:
    """Compare a label's segments (`parts`) with the event type's segments from index `depth` on. Return
    the index after the last segment that the label matches. -1: the label does not match."""
    end = depth + len(parts)
    if end > len(segments):
        return -1
    for part, segment in zip(parts, segments[depth:end], strict=True):
        if part != segment and (part != ANY or not segment):
            return -1
    return end
