"""Files that declare scenarios: placeholders for sizes, variants' common fields, and refusals."""

import tomllib
from pathlib import Path
from typing import Any

import pytest

from bench.declared import Declaration, declaration, read
from bench.measure import named, over

PLAIN = """
about = "a test"
minutes = 1
[sizes]
events = 10
[[groups]]
name = "hook"
[load]
events = "$events"
connections = 4
"""


def declared(text: str, **sizes: Any) -> Declaration:
    raw = tomllib.loads(text)
    return declaration("a_test", raw, raw.get("sizes", {}) | sizes)


def test_sizes_are_filled_in_and_what_is_left_out_has_its_default() -> None:
    (variant,) = declared(PLAIN, events=7).variants
    assert (variant.name, variant.load.to, variant.load.number) == ("", "hook", 7)
    assert variant.load.connections == 4


def test_events_follow_of_a_rate_and_seconds() -> None:
    found = declared(PLAIN.replace('events = "$events"', "rate = 2.5\nseconds = 4"))
    assert found.variants[0].load.number == 10


def test_variants_share_the_load_and_the_receivers_but_for_what_they_say_themselves() -> None:
    found = declared(
        PLAIN
        + """
[[receivers]]
behaviour = {fail = 0.5}
[[variants]]
name = "one"
load = {connections = 9}
[[variants]]
name = "other"
receivers = []
"""
    )
    one, other = found.variants
    assert (one.load.connections, other.load.connections) == (9, 4)
    assert (one.load.number, other.load.number) == (10, 10)
    assert [len(each.receivers) for each in (one, other)] == [1, 0]


def test_takers_of_events_are_the_group_and_who_takes_them_besides() -> None:
    found = declared(PLAIN + '[[groups]]\nname = "beside"\ntakes = "hook"\n')
    assert [group.name for group in found.takers("hook")] == ["hook", "beside"]
    assert [group.name for group in found.takers("beside")] == ["beside"]


def test_bars_are_stated_as_results_state_them() -> None:
    found = declared(
        'better = {loss = "less"}\nbars = {loss = {at_most = 0, stretch = 0}}\n' + PLAIN
    )
    assert found.demands() == {"loss": {"atMost": 0, "stretch": 0}}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (("about", "abuot"), "unknown field `abuot`"),
        (("connections = 4", "conections = 4"), r"unknown field `conections` - at `\$.variants"),
        (("connections = 4", 'connections = "4"'), "Expected `int`, got `str`"),
        (("connections = 4", "connections = 0"), "Expected `int` >= 1"),
        (('"$events"', '"$evnets"'), "there is no size 'evnets'"),
        (('"$events"', "0"), "posts nothing"),
        (("[load]", '[load]\nto = "hoook"'), "no group 'hoook' to post to"),
        (("[load]", "[load]\nlanes = 3\nown_lanes = true"), "lanes or own_lanes"),
        (('name = "hook"', 'name = "hook"\ntakes = "who"'), "no group 'who' to take from"),
        (('name = "hook"', 'name = "Hook"'), "matching regex"),
        (
            ('name = "hook"', 'name = "hook"\nfanout = true\ncustomers = true'),
            "fanout or customers",
        ),
        (("[load]", '[[groups]]\nname = "hook"\n[load]'), "two groups have one name"),
        (("[load]", "[[variants]]\n[[variants]]\n[load]"), "two variants have one name"),
        (
            ("[load]", '[[variants]]\n[[variants]]\nname = "x"\n[load]'),
            "each of several variants needs a name",
        ),
        (("[load]", '[[receivers]]\ngroup = "x"\nbehaviour = {}\n[load]'), "no group 'x'"),
        (("[load]", "[[receivers]]\nbehaviour = {fail = 2}\n[load]"), "a share from 0 to 1"),
        (("minutes", "bars = {x = {stretch = 1}}\nminutes"), "at_most or at_least a number"),
        (("minutes", "bars = {x = {at_most = 1}}\nminutes"), "set better to less or more"),
    ],
)
def test_what_is_not_of_the_form_is_refused_with_its_place(
    wrong: tuple[str, str], message: str
) -> None:
    assert wrong[0] in PLAIN
    with pytest.raises(ValueError, match=f"a_test: .*{message}"):
        declared(PLAIN.replace(*wrong, 1))


def test_a_file_that_is_no_toml_or_whose_tiny_sizes_are_no_sizes_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "a_test.toml"
    file.write_text("about =")
    with pytest.raises(ValueError, match=r"a_test\.toml: "):
        read(file)
    file.write_text("[tiny]\nevents = 3")
    with pytest.raises(ValueError, match="tiny has events, which sizes lacks"):
        read(file)


def test_ratios_are_named_by_both() -> None:
    assert over("key", "none", "timesFloor") == "keyOverNone"
    assert over("key", "none", "p99Ms") == "keyOverNoneP99Ms"
    assert named("key", "p99Ms") == "keyP99Ms"
    assert named("", "p99Ms") == "p99Ms"
