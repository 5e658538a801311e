"""The format of scenario files: destinations, load, comparisons and bars.

In a file, `"$name"` stands for the value of `name` in the file's table `sizes`. `--set` can replace this
value, and so can the table `tiny`, which the tests use.
"""

import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct

from bench.receiver.behaviour import Behaviour
from bench.scenario import Bars, Sizes
from engine.core.vocabulary import Ordering
from engine.model.words import Word, word

Positive = Annotated[int, Meta(ge=1)]
Count = Annotated[int, Meta(ge=0)]
Least = Annotated[float, Meta(ge=0)]
Name = Annotated[str, Meta(pattern="^[a-z][A-Za-z0-9]*$")]


class Form(Struct, frozen=True, forbid_unknown_fields=True, omit_defaults=True):
    """The common rules of all parts of a file."""


class Delivery(Form, frozen=True, rename="camel"):
    """The delivery settings of a destination, with the API's names."""

    concurrency: Positive = 64
    ordering: Word[Ordering] = word(Ordering.NONE)
    timeout_ms: Positive = 30_000
    retry_schedule: list[Positive] | None = None
    rate_per_second: float | None = None

    def document(self) -> dict[str, Any]:
        """Return the API's object."""
        found: dict[str, Any] = msgspec.to_builtins(self)
        return found


class Group(Form, frozen=True):
    """A group of destinations with the same settings. Each event goes to one destination of the group.
    With `fanout`, each event goes to all destinations of the group.

    `takes`: the name of another group; this group also gets the other group's events. `dead`: the run
    does not wait for deliveries to this group. `customers`: each destination belongs to its own customer,
    and SQL creates the destinations, a thousand in each environment.
    """

    name: Name
    count: Positive = 1
    fanout: bool = False
    takes: str = ""
    customers: bool = False
    scheme: Literal["http", "https"] = "http"
    dead: bool = False
    delivery: Delivery = Delivery()


class Load(Form, frozen=True):
    """The events posted to a group of destinations. `to`: the group's name (in a file, the first group
    is the default). The number of events is `events`.
    If `events` is 0, it is `rate` times `seconds`. `warm`: the number of events posted before each
    measurement. `bench.load.Plan` describes the other fields."""

    to: str
    events: Count = 0
    seconds: Least = 0
    rate: Least = 0
    connections: Positive = 64
    batch: Positive = 1
    zipf: Least = 0
    lanes: Count = 0
    own_lanes: bool = False
    sizes: list[tuple[Positive, Positive]] = []  # of payloads, with weights
    warm: Count = 0

    @property
    def number(self) -> int:
        return self.events or round(self.rate * self.seconds)


class Receivers(Form, frozen=True):
    """The answers of a group's receivers, or of all receivers."""

    behaviour: Behaviour
    group: str = ""


class Variant(Form, frozen=True):
    """One variant of the work. `fill`: the number of deliveries in the server's tables at the start.
    `value`: the variant's position on the horizontal axis of the plot."""

    load: Load
    name: Annotated[str, Meta(pattern="^([a-z][A-Za-z0-9]*)?$")] = ""
    receivers: list[Receivers] = []
    fill: Count = 0
    value: float | None = None


class Bar(Form, frozen=True):
    """The limit of a figure, and the goal beyond it."""

    at_most: float | None = None
    at_least: float | None = None
    stretch: float | None = None


class Declaration(Form, frozen=True):
    """A scenario. Each of the `rounds` rounds measures every variant once. `compared`: the names of the
    figures that are divided by the same figure of the first variant. `step`: the label of the plot's
    horizontal axis.

    `duplicates`: True if an event may arrive twice. This happens if an attempt times out although it
    reached the receiver.
    """

    about: str
    minutes: Least
    groups: Annotated[list[Group], Meta(min_length=1)]
    variants: Annotated[list[Variant], Meta(min_length=1)]
    rounds: Positive = 1
    compared: tuple[str, ...] = ("timesFloor",)
    step: str = ""
    duplicates: bool = False
    better: dict[str, Literal["less", "more"]] = {}
    bars: dict[str, Bar] = {}

    def group(self, name: str) -> Group:
        """Return a group by its name."""
        return next(each for each in self.groups if each.name == name)

    def takers(self, name: str) -> list[Group]:
        """Return the groups that get the events of one group."""
        return [each for each in self.groups if name in (each.name, each.takes)]

    def demands(self) -> Bars:
        """Return the bars in the form of results."""
        named = {"at_most": "atMost", "at_least": "atLeast", "stretch": "stretch"}
        return {
            figure: {
                named[key]: value
                for key, value in msgspec.structs.asdict(bar).items()
                if value is not None
            }
            for figure, bar in self.bars.items()
        }


def read(path: Path) -> dict[str, Any]:
    """Return the content of a file. Raises ValueError if the file is not TOML, or has invalid sizes."""
    try:
        raw = tomllib.loads(path.read_text("utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        raise ValueError(f"{path.name}: {error}") from None
    sizes, tiny = raw.get("sizes", {}), raw.get("tiny", {})
    if not isinstance(sizes, dict) or not isinstance(tiny, dict):
        # one kind of error for all faults in a file
        raise ValueError(f"{path.name}: sizes and tiny must be tables")  # noqa: TRY004
    if strange := sorted(tiny.keys() - sizes.keys()):
        raise ValueError(f"{path.name}: tiny has {', '.join(strange)}, which sizes lacks")
    return raw


def declaration(name: str, raw: Mapping[str, Any], sizes: Sizes) -> Declaration:
    """Return the scenario of a file, with `sizes` filled in. Raises ValueError if the file is invalid."""
    try:
        whole = _filled_in({key: raw[key] for key in raw if key not in ("sizes", "tiny")}, sizes)
        found = msgspec.convert(_merged(whole), Declaration)
        _check(found)
    except ValueError as error:  # also msgspec.ValidationError
        raise ValueError(f"{name}: {error}") from None
    return found


def _filled_in(value: Any, sizes: Sizes) -> Any:
    if isinstance(value, dict):
        return {key: _filled_in(each, sizes) for key, each in value.items()}
    if isinstance(value, list):
        return [_filled_in(each, sizes) for each in value]
    if isinstance(value, str) and value.startswith("$"):
        if value[1:] not in sizes:
            raise ValueError(f"there is no size {value[1:]!r}")
        return sizes[value[1:]]
    return value


def _merged(raw: dict[str, Any]) -> dict[str, Any]:
    """Return the content of a file in the form of `Declaration`. A file without variants gets one
    variant."""
    raw = dict(raw)
    groups = raw.get("groups") or [{}]
    load = {"to": groups[0].get("name", "")} | raw.pop("load", {})
    receivers = raw.pop("receivers", [])
    variants = raw.get("variants", [{}])
    if not isinstance(variants, list):
        raise ValueError("variants must be an array of tables")  # noqa: TRY004
    raw["variants"] = [
        {"receivers": receivers, **each, "load": load | each.get("load", {})} for each in variants
    ]
    return raw


def _check(found: Declaration) -> None:
    groups = {each.name for each in found.groups}
    names = [each.name for each in found.variants]
    _require(len(groups) == len(found.groups), "two groups have one name")
    _require(len(set(names)) == len(names), "two variants have one name")
    _require(len(names) == 1 or all(names), "each of several variants needs a name")
    for group in found.groups:
        _require(group.takes in {"", *groups}, f"there is no group {group.takes!r} to take from")
        _require(not (group.fanout and group.customers), f"{group.name}: fanout or customers")
    for variant in found.variants:
        load = variant.load
        _require(load.to in groups, f"there is no group {load.to!r} to post to")
        _require(
            load.number > 0,
            f"variant {variant.name!r} posts nothing: give events, or rate with seconds",
        )
        _require(not (load.lanes and load.own_lanes), "give lanes or own_lanes, not both")
        _require(
            not found.group(load.to).customers
            or not (load.lanes or load.own_lanes or load.batch > 1),
            "with customers, leave out lanes, own_lanes and batch",
        )
        for receivers in variant.receivers:
            _require(receivers.group in {"", *groups}, f"there is no group {receivers.group!r}")
            _require(
                not receivers.behaviour.paths, "receivers are named by their group, not by paths"
            )
    for figure, bar in found.bars.items():
        _require(
            (bar.at_most is None) != (bar.at_least is None),
            f"{figure}: give at_most or at_least a number",
        )
        _require(figure in found.better, f"{figure} has a bar: set better to less or more")


def _require(truth: bool, otherwise: str) -> None:
    if not truth:
        raise ValueError(otherwise)
