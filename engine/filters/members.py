"""The members of an event that a filter names, and their values. A preview shows the members' values, to
explain why the filter was false."""

from collections.abc import Iterator
from itertools import islice
from typing import Any

import orjson
from msgspec import Struct

from engine.filters.syntax import Expression, Field, Has, Index, Literal, Select, children

MOST = 8  # members of one filter
TEXT = 200  # characters of a value
NODES = 40  # of a value: more would rarely fit into TEXT, and an answer can show a thousand rules
Member = tuple[str | int, ...]  # the path, from the event's field on


class MemberValue(Struct, frozen=True):
    """A member, as in `event.payload.items[0]`, and its value as JSON, cut off after 200 characters.
    `value` is None if the event has no such member."""

    path: str
    value: str | None


def members_of(tree: Expression) -> tuple[Member, ...]:
    """Return at most `MOST` members that an expression names."""
    return tuple(dict.fromkeys(_members(tree)))[:MOST]


def values_of(members: tuple[Member, ...], fields: dict[str, Any]) -> list[MemberValue]:
    """Return the values of members in the fields of an event."""
    return [MemberValue(_text(member), _value(member, fields)) for member in members]


def _members(node: Expression) -> Iterator[Member]:
    chain = _chain(node)
    if chain is not None:
        yield chain
        return
    for child in children(node):
        yield from _members(child)


def _chain(node: Expression) -> Member | None:
    if isinstance(node, Field):
        return (node.name,)
    if isinstance(node, Has) and node.operand is None:
        return (node.name,)
    if isinstance(node, Select | Has):
        before = None if node.operand is None else _chain(node.operand)
        return None if before is None else (*before, node.name)
    if isinstance(node, Index) and isinstance(node.key, Literal):
        before, key = _chain(node.operand), node.key.value
        if before is not None and isinstance(key, str | int) and not isinstance(key, bool):
            return (*before, key)
    return None


def _text(member: Member) -> str:
    parts = [
        f".{part}" if isinstance(part, str) and part.isidentifier() else f"[{_json(part)}]"
        for part in member
    ]
    return "event" + "".join(parts)


def _value(member: Member, fields: dict[str, Any]) -> str | None:
    value: Any = fields
    for part in member:
        found = part in value if isinstance(value, dict) else _within(value, part)
        if not found:
            return None
        value = value[part]
    return _json(_shortened(value, [NODES]))[:TEXT]


def _within(value: Any, part: str | int) -> bool:
    return isinstance(value, list) and isinstance(part, int) and 0 <= part < len(value)


def _shortened(value: Any, left: list[int]) -> Any:
    """Return a value, shortened to a number of nodes. `left[0]` is how many nodes can still be visited.
    Each call lowers `left[0]` by one."""
    left[0] -= 1
    if isinstance(value, str):
        return value[:TEXT]
    if isinstance(value, list):
        return [_shortened(item, left) for item in islice(value, max(0, left[0]))]
    if isinstance(value, dict):
        names = islice(value, max(0, left[0]))
        return {name[:TEXT]: _shortened(value[name], left) for name in names}
    return value


def _json(value: Any) -> str:
    return orjson.dumps(value).decode()
