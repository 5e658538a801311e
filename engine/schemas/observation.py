"""The observation of one place in the payloads of an event type: the kinds, formats, values and
members.

An inferred schema must accept every observed payload. So the schema describes a place only if all
values of the place were observed.
"""

import re
from collections.abc import Iterator
from decimal import Decimal
from itertools import repeat
from typing import Any

import jsonschema_rs

MAX_SIGHTS = 1_000  # places in one inference; the schema says nothing of further places
MAX_NAMES = 100  # names in one object; an object with more is a map, whose names are data
NAME_LENGTH = 128
ENUM_VALUES = 8
ENUM_LENGTH = 64
ENUM_SEEN = 20  # strings that must be seen before they can be an enum
ENUM_EACH = 5  # how often each value must be seen on average
FORMAT_LENGTH = 1_024
PAUSE = 256  # values between two pauses, which take a tenth of a millisecond
_FORMATS = {
    name: jsonschema_rs.Draft202012Validator({"format": name}, validate_formats=True).is_valid
    for name in ("date-time", "date", "uuid", "email", "uri")
}
_IDENTIFIER = re.compile(r"\d+|[0-9a-fA-F]{8}-[0-9a-fA-F-]{27}")
_KINDS = ("object", "array", "string", "integer", "number", "boolean", "null")


class ObservationRoom:
    """The number of further places in the payloads that can be observed."""

    def __init__(self, sights: int = MAX_SIGHTS) -> None:
        self.left = sights

    def sight(self) -> "Observation | None":
        """Return an empty observation, for a further place in the payloads, such as `payload.items[].id`.
        Return None if no further place can be observed."""
        if self.left <= 0:
            return None
        self.left -= 1
        return Observation()


class Observation:
    """The observation of one place. `seen` counts the values by kind."""

    __slots__ = ("formats", "frozen", "items", "lost", "members", "rest", "seen", "values")

    def __init__(self) -> None:
        self.seen: dict[str, int] = {}
        self.formats: set[str] | None = None  # None until a string is seen
        self.values: dict[str, int] | None = {}  # None once there are too many
        self.members: dict[str, Observation] = {}
        self.rest: Observation | None = None  # of a map: the observation of all its values
        self.frozen = False  # True once a member was ignored: no new members are observed
        self.items: Observation | None = None
        self.lost = False  # True once items were ignored

    # --- observing

    def look(self, value: Any, room: ObservationRoom) -> Iterator[None]:
        """Observe a value and everything within it; yield after each `PAUSE` values."""
        # A stack of iterators, the innermost last. Each iterates over the members or items of one value.
        waiting: list[Iterator[tuple[Observation, Any]]] = [iter(((self, value),))]
        looked = 0
        while waiting:
            for sight, each in waiting[-1]:
                inner = sight._take(each, room)
                looked += 1
                if looked % PAUSE == 0:
                    yield
                if inner is not None:
                    waiting.append(inner)
                    break
            else:
                waiting.pop()

    def _take(
        self, value: Any, room: ObservationRoom
    ) -> Iterator[tuple["Observation", Any]] | None:
        kind = kind_of(value)
        self.seen[kind] = self.seen.get(kind, 0) + 1
        if kind == "string":
            self._take_string(value)
        elif kind == "object":
            return iter(self._take_members(value, room))
        elif kind == "array" and value and not self.lost:
            if self.items is None:
                self.items = room.sight()
            if self.items is None:
                self.lost = True
            else:
                return zip(repeat(self.items), value)
        return None

    def _take_string(self, text: str) -> None:
        if self.formats is None:
            self.formats = set(_FORMATS)
        if self.formats:
            short = len(text) <= FORMAT_LENGTH
            self.formats = {name for name in self.formats if short and _is(name, text)}
        if self.values is not None:
            self.values[text] = self.values.get(text, 0) + 1
            if len(text) > ENUM_LENGTH or len(self.values) > ENUM_VALUES:
                self.values = None

    def _take_members(
        self, value: dict[str, Any], room: ObservationRoom
    ) -> list[tuple["Observation", Any]]:
        if len(value) > MAX_NAMES and self.rest is None and not self.frozen:
            self.fold()
        found: list[tuple[Observation, Any]] = []
        for name, member in value.items():
            sight = self.rest or self.members.get(name)
            if sight is None:
                sight = self._member(name, room)
            if sight is not None:
                found.append((sight, member))
        if len(self.members) > MAX_NAMES:
            return self._as_map(found)
        return found

    def _member(self, name: str, room: ObservationRoom) -> "Observation | None":
        if self.frozen or len(name) > NAME_LENGTH:
            self.frozen = True
            return None
        sight = room.sight()
        if sight is None:
            self.frozen = True
        else:
            self.members[name] = sight
        return sight

    def _as_map(self, waiting: list[tuple["Observation", Any]]) -> list[tuple["Observation", Any]]:
        rest = self.fold()
        return [] if rest is None else [(rest, value) for _, value in waiting]

    # --- merging

    def fold(self) -> "Observation | None":
        """Treat the objects at this place as maps. The names of a map's members are data, so the members
        share one observation. Return this observation. Return None if any member was ignored before
        (see `frozen`), because the observation would then not be true of all members."""
        rest = Observation()
        for sight in self.members.values():
            rest.absorb(sight)
        self.members = {}
        self.rest = None if self.frozen else rest
        self.frozen = self.frozen or self.rest is None
        return self.rest

    def absorb(self, other: "Observation") -> None:
        for kind, count in other.seen.items():
            self.seen[kind] = self.seen.get(kind, 0) + count
        if other.formats is not None:
            self.formats = (
                set(other.formats) if self.formats is None else self.formats & other.formats
            )
        self._absorb_values(other)
        self.lost = self.lost or other.lost
        if self.lost:
            self.items = None
        elif other.items is not None:
            self.items = self.items or Observation()
            self.items.absorb(other.items)
        self._absorb_members(other)

    def _absorb_values(self, other: "Observation") -> None:
        if self.values is None or other.values is None:
            self.values = None
            return
        for text, count in other.values.items():
            self.values[text] = self.values.get(text, 0) + count
        if len(self.values) > ENUM_VALUES:
            self.values = None

    def _absorb_members(self, other: "Observation") -> None:
        if self.rest is not None or other.rest is not None:
            self._absorb_map(other)
            return
        if other.frozen:  # a name that `other` lacks can have occurred, and have been ignored
            self.members = {name: s for name, s in self.members.items() if name in other.members}
        for name, sight in other.members.items():
            if name not in self.members and not self.frozen:
                self.members[name] = Observation()
            if name in self.members:
                self.members[name].absorb(sight)
        self.frozen = self.frozen or other.frozen
        if len(self.members) > MAX_NAMES:
            self.fold()

    def _absorb_map(self, other: "Observation") -> None:
        rest = Observation()
        for side in (self, other):
            for sight in (*side.members.values(), *([side.rest] if side.rest else ())):
                rest.absorb(sight)
        self.members = {}
        self.frozen = self.frozen or other.frozen
        self.rest = None if self.frozen else rest

    # --- the schema

    def schema(self, depth: int) -> dict[str, Any]:
        """Return the schema of the observed values. It describes at most `depth` levels within them."""
        kinds = [kind for kind in _KINDS if kind in self.seen]
        if "number" in kinds and "integer" in kinds:
            kinds.remove("integer")
        schema: dict[str, Any] = {}
        if kinds:
            schema["type"] = kinds[0] if len(kinds) == 1 else kinds
        if "string" in kinds:
            schema |= self._strings(kinds)
        if depth > 0 and self.items is not None:
            schema["items"] = self.items.schema(depth - 1)
        if depth > 0 and "object" in kinds:
            schema |= self._objects(depth)
        return schema

    def _strings(self, kinds: list[str]) -> dict[str, Any]:
        if self.formats:
            return {"format": next(name for name in _FORMATS if name in self.formats)}
        values = self.values
        if values and set(kinds) <= {"string", "null"}:
            seen = self.seen["string"]
            if seen >= max(ENUM_SEEN, ENUM_EACH * len(values)):
                return {"enum": sorted(values) + ([None] if "null" in kinds else [])}
        return {}

    def _objects(self, depth: int) -> dict[str, Any]:
        if (
            not self.frozen
            and len(self.members) > 1
            and all(map(_IDENTIFIER.fullmatch, self.members))
        ):
            self.fold()
        if self.rest is not None:
            return {"additionalProperties": self.rest.schema(depth - 1)}
        if not self.members:
            return {}
        objects = self.seen["object"]
        names = sorted(self.members)
        required = [name for name in names if sum(self.members[name].seen.values()) == objects]
        found: dict[str, Any] = {"required": required} if required else {}
        found["properties"] = {name: self.members[name].schema(depth - 1) for name in names}
        return found

    def conflicts(self, path: str = "payload") -> Iterator[tuple[str, str]]:
        """For each place with values of several kinds, yield its path, and a text that counts the values
        of each kind."""
        kinds = {kind: count for kind, count in self.seen.items() if kind != "null"}
        if len(kinds) > 1 and set(kinds) != {"integer", "number"}:
            yield path, ", ".join(f"{kind} {count} times" for kind, count in sorted(kinds.items()))
        if self.items is not None:
            yield from self.items.conflicts(f"{path}[]")
        for name, sight in self.members.items():
            yield from sight.conflicts(f"{path}.{name}")
        if self.rest is not None:
            yield from self.rest.conflicts(f"{path}.*")


def kind_of(value: Any) -> str:
    """Return the JSON Schema type of a decoded value."""
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "boolean"
    if isinstance(value, str):
        return "string"
    if isinstance(value, dict):
        return "object"
    if isinstance(value, list):
        return "array"
    if isinstance(value, int) or (isinstance(value, Decimal) and value.as_tuple().exponent == 0):
        return "integer"
    return "number"


def _is(format_name: str, text: str) -> bool:
    # `a:b` is also a URI, but hardly meant as one
    return (format_name != "uri" or "://" in text) and _FORMATS[format_name](text)
