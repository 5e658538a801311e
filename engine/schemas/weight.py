"""The weight of a schema: the most work that one value of a payload can cause.

The unit is about a tenth of a microsecond. References, alternatives, recursion and `unevaluated...`
multiply the validator's work. The weight counts each repetition. A schema whose weight is above
MAX_WEIGHT is refused when it is created.
"""

from collections.abc import Callable, Iterable
from itertools import chain
from typing import Any

from engine.core.pattern_index import Steps
from engine.model.documents import invalid
from engine.model.json_members import MAX_DEPTH
from engine.schemas.numbers import is_short
from engine.schemas.patterns import pattern_size
from engine.schemas.places import Subschema, values_of

MAX_EXPANSIONS = 1_000  # of references, each counted once for each path to it
MAX_WEIGHT = 2_000  # with it a payload can still have about a hundred values
ALTERNATIVE = 2  # the cost of an alternative or `contains`, besides its subschema (measured)
_PLAIN = (1e-20, 1e20)  # the range of a `multipleOf` that is cheap (measured)
MAX_STEPS = 20_000  # of this computation: some tenths of a second at worst
_SAME = ("allOf", "anyOf", "oneOf", "not", "if", "then", "else", "dependentSchemas", "dependencies")
_ASIDE = ("$defs", "definitions", "contentSchema")  # their schemas apply only where referred to

Applications = dict[Subschema, int]


class _Fan:
    """The subschemas that apply to the members of an object, or to the items of an array. Each subschema
    is mapped to the number of times that it applies.

    `named` has the subschemas of single members by name, or of single items by index. `other` has the
    subschemas of all members or items that are not in `named`.
    """

    __slots__ = ("named", "other")

    def __init__(self) -> None:
        self.named: dict[object, Applications] = {}
        self.other: Applications = {}

    def classes(self) -> Iterable[Applications]:
        yield from self.named.values()
        yield self.other


class _Cost:
    """The cost of applying one subschema to a value. `own` is the cost without the value's members and
    items. `members` has the subschemas that apply to the members, `items` those that apply to the
    items."""

    __slots__ = ("items", "members", "own")

    def __init__(self, own: int) -> None:
        self.own = own
        self.members = _Fan()
        self.items = _Fan()

    @property
    def size(self) -> int:
        return len(self.members.named) + len(self.items.named)


def weigh(root: Subschema, steps: Steps | None = None) -> int:
    """Return the weight of a schema. Raises Refusal 400 for a schema that is too complex or refers to
    itself without end. `steps` counts the steps of this computation."""
    steps = steps or Steps()
    _check_expansions(root, steps)
    return _Scale(steps).weigh(root)


def _check_expansions(root: Subschema, steps: Steps) -> None:
    counts: Applications = {}

    def within(place: Subschema) -> list[Subschema]:
        inner = [
            part
            for keyword, parts in place.parts.items()
            if keyword not in _ASIDE
            for part in parts.values()
        ]
        return inner + place.refers

    for place in _post_order(root, within, steps):
        steps.spend(1 + len(place.refers))
        total = sum(counts.get(each, 0) for each in within(place)) + len(place.refers)
        if total > MAX_EXPANSIONS:
            raise invalid("schema", f"more than {MAX_EXPANSIONS} expansions of $ref")
        counts[place] = total


def _post_order(
    root: Subschema,
    following: Callable[[Subschema], list[Subschema]],
    steps: Steps,
    *,
    cycles: bool = True,
) -> list[Subschema]:
    """Return every subschema that can be reached from `root`, in post-order. Raises Refusal 400 for a
    cycle, unless `cycles` is set."""
    order: list[Subschema] = []
    entered: dict[Subschema, bool] = {}  # the value is True once the subschema is in `order`
    waiting: list[tuple[Subschema, bool]] = [(root, False)]
    while waiting:
        place, leaving = waiting.pop()
        steps.spend(1)
        if leaving:
            entered[place] = True
            order.append(place)
            continue
        if place in entered:
            continue
        entered[place] = False
        waiting.append((place, True))
        for each in following(place):
            steps.spend(1)
            if each not in entered:
                waiting.append((each, False))
            elif not (entered[each] or cycles):
                raise invalid(place.path, "refers to itself without going into the value")
    return order


class _Scale:
    def __init__(self, steps: Steps) -> None:
        self._steps = 0
        self._slices = steps
        self._costs: dict[Subschema, _Cost] = {}
        # `uniqueItems` compares the items of an array and all values within the items, and costs 1 for
        # each of these values. `_whole` stands for this work: it is a subschema of cost 1 that applies to
        # each item and to each value within the items.
        self._whole = Subschema(True, (), "")
        whole = self._costs[self._whole] = _Cost(1)
        whole.members.other[self._whole] = whole.items.other[self._whole] = 1

    def weigh(self, root: Subschema) -> int:
        entries: dict[Subschema, None] = {self._whole: None}
        waiting = [root]
        while waiting:
            entry = waiting.pop()
            if entry in entries:
                continue
            entries[entry] = None
            for place in _post_order(entry, _on_the_value, self._slices, cycles=False):
                if place not in self._costs:
                    self._slices.spend(10)  # some 8 us
                    self._costs[place] = self._cost(place)
            cost = self._costs[entry]
            for fan in (cost.members, cost.items):
                for counts in fan.classes():
                    waiting += counts
                    self._step(len(counts))
        return self._deepest(root, list(entries))

    def _deepest(self, root: Subschema, entries: list[Subschema]) -> int:
        """Return the most that any value costs, whatever its depth."""
        level = {place: self._costs[place].own for place in entries}
        most = level[root]
        for _ in range(MAX_DEPTH):
            above, level = level, {place: self._below(place, level) for place in entries}
            most = max(most, level[root])
            if most > MAX_WEIGHT or level == above:
                break
        if most > MAX_WEIGHT:
            raise invalid("schema", f"too much is examined of one value: {MAX_WEIGHT} is the most")
        return most

    def _below(self, place: Subschema, level: dict[Subschema, int]) -> int:
        cost = self._costs[place]
        self._slices.spend(3 + cost.size)
        return max(
            sum(level[each] * times for each, times in counts.items())
            for fan in (cost.members, cost.items)
            for counts in fan.classes()
        )

    def _cost(self, place: Subschema) -> _Cost:
        schema = place.schema
        if isinstance(schema, bool):
            return _Cost(1)
        cost = _Cost(_own(schema))
        # If a schema has an `unevaluated...` keyword, the validator applies the subschemas of `allOf`,
        # `$ref` and similar keywords twice to the value.
        times = 2 if "unevaluatedProperties" in schema or "unevaluatedItems" in schema else 1
        self._fill(cost, place, schema)
        for part in _on_the_value(place):
            inner = self._costs[part]
            cost.own += inner.own * times
            self._merge(cost.members, inner.members, times)
            self._merge(cost.items, inner.items, times)
            if cost.own > MAX_WEIGHT:
                raise invalid(
                    place.path, f"too much is examined of one value: {MAX_WEIGHT} is the most"
                )
        return cost

    def _fill(self, cost: _Cost, place: Subschema, schema: dict[str, Any]) -> None:
        parts = place.parts
        for named, fan, rest in (
            (parts.get("properties", {}), cost.members, "additionalProperties"),
            (parts.get("prefixItems", {}), cost.items, "items"),
        ):
            for name, part in named.items():
                fan.named[name] = {part: 1}
            if rest in parts:
                fan.other[parts[rest][None]] = 1
        everywhere = [*parts.get("patternProperties", {}).values()]
        everywhere += parts.get("unevaluatedProperties", {}).values()
        self._everywhere(cost.members, everywhere)
        everywhere = [*parts.get("contains", {}).values()] * (1 + ALTERNATIVE)
        everywhere += parts.get("unevaluatedItems", {}).values()
        if schema.get("uniqueItems") is True:
            everywhere.append(self._whole)
        self._everywhere(cost.items, everywhere)
        if "propertyNames" in parts:
            cost.members.named[None] = {parts["propertyNames"][None]: 1}

    def _everywhere(self, fan: _Fan, parts: list[Subschema]) -> None:
        for counts in fan.classes():
            self._step(len(parts))
            for part in parts:
                counts[part] = counts.get(part, 0) + 1

    def _merge(self, into: _Fan, fan: _Fan, times: int) -> None:
        for name in into.named.keys() | fan.named.keys():
            counts = into.named.get(name)
            if counts is None:
                # `into.named` has no entry for this member or item yet, so until now the subschemas of
                # `into.other` applied to it. Its new entry begins with a copy of these subschemas. But an
                # entry for None (`propertyNames`) begins empty.
                counts = into.named[name] = {} if name is None else dict(into.other)
                self._step(len(counts))
            missing: Applications = {} if name is None else fan.other
            self._add(counts, fan.named.get(name, missing), times)
        self._add(into.other, fan.other, times)

    def _add(self, counts: Applications, more: Applications, times: int) -> None:
        self._step(len(more) + 1)
        for place, count in more.items():
            counts[place] = counts.get(place, 0) + count * times

    def _step(self, number: int) -> None:
        self._steps += number
        self._slices.spend(number)
        if self._steps > MAX_STEPS:
            raise invalid(
                "schema", "is too entangled: too many subschemas are about the same members"
            )


def _on_the_value(place: Subschema) -> list[Subschema]:
    """Return the subschemas that apply to the same value as `place`: subschemas within `place`, such as
    those of `allOf`, and subschemas to which `place` refers."""
    inner = [part for keyword in _SAME for part in place.parts.get(keyword, {}).values()]
    return inner + place.refers


def _own(schema: dict[str, Any]) -> int:
    """Return the cost of a subschema without the subschemas within it."""
    own = 1 + len(schema.get("required", ())) // 8
    own += ALTERNATIVE * sum(len(schema.get(keyword, ())) for keyword in ("anyOf", "oneOf"))
    for keyword in ("dependentRequired", "dependentSchemas"):
        named = schema.get(keyword, {}).values()
        own += sum(1 if isinstance(each, bool) else 1 + len(each) // 8 for each in named) // 8
    if "enum" in schema:
        own += _options(schema["enum"])
    if "const" in schema:
        own += _options([schema["const"]])
    if type(schema.get("multipleOf")) is float:
        # The validator divides exactly: it turns a float into a fraction of two integers. For a float
        # outside of the range `_PLAIN`, one of the two integers has many digits.
        own += 24 if _PLAIN[0] <= abs(schema["multipleOf"]) <= _PLAIN[1] else 400
    if str(schema.get("format")).startswith("idn-"):
        own += 15  # the value is normalised, code point by code point
    if isinstance(pattern := schema.get("pattern"), str):
        own += 1 + pattern_size(pattern) // 16
    own += sum(1 + pattern_size(each) // 16 for each in schema.get("patternProperties", {}))
    return own


def _options(options: list[Any]) -> int:
    """Return the cost of comparing a value with all options of an `enum` or a `const` (measured)."""
    if all(type(each) is str for each in options) or all(map(is_short, options)):
        return 0  # one look-up in a table
    scalars = floats = containers = 0
    for value in chain.from_iterable(map(values_of, options)):
        if isinstance(value, dict | list):
            containers += 1
        elif isinstance(value, float) or (type(value) is int and not is_short(value)):
            floats += 1
        else:
            scalars += 1
    return floats * 15 + (containers + scalars) * 2 if containers else floats * 15 + scalars // 8
