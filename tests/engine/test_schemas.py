"""Schemas are checked when they are created: their form and their cost."""

import json
from random import Random
from typing import Any

import jsonschema_rs
import pytest
from structlog.testing import capture_logs

from engine.model.errors import Refusal
from engine.model.read_models import ActiveSchema, Models
from engine.schemas.checks import ActiveSchemas, SchemaCheck, SchemaCompiler
from engine.schemas.compiled import ALTERNATIVES_WORK, MAX_WORK, CompiledSchema, judged
from engine.schemas.outline import outline
from engine.schemas.patterns import pattern_size
from engine.schemas.weight import MAX_WEIGHT
from tests.engine.schemas import Tally, random_schema, random_value, values_in

VALUE = {
    "$defs": {
        "value": {
            "anyOf": [
                {"type": ["string", "number", "boolean", "null"]},
                {"type": "array", "items": {"$ref": "#/$defs/value"}},
                {"type": "object", "additionalProperties": {"$ref": "#/$defs/value"}},
            ]
        }
    },
    "$ref": "#/$defs/value",
}
TREE = {
    "properties": {"left": {"$ref": "#"}, "right": {"$ref": "#"}, "n": {"type": "integer"}},
    "additionalProperties": False,
}


def definition(name: str) -> dict[str, str]:
    return {"$ref": f"#/$defs/{name}"}


def doubling(levels: int, keyword: str = "allOf") -> dict[str, Any]:
    """Return a schema whose work on one value doubles with each level."""
    definitions: dict[str, Any] = {f"a{levels}": {"type": "object"}}
    for level in range(levels):
        definitions[f"a{level}"] = {keyword: [definition(f"a{level + 1}")] * 2}
    return {"$defs": definitions, **definition("a0")}


def nested(levels: int, inner: Any, outer: Any) -> Any:
    for _ in range(levels):
        inner = {**outer, "allOf": [inner]}
    return inner


def within(key: str, schema: Any) -> Any:
    return {"properties": {"x": {key: schema}}}


GOOD = {
    "true": True,
    "empty": {},
    "any JSON value": VALUE,
    "tree": TREE,
    "draft named": {"$schema": "https://json-schema.org/draft/2020-12/schema#", "type": "object"},
    "definitions": {"definitions": {"q": {}}, "properties": {"a": {"$ref": "#/definitions/q"}}},
    "anchor": {"$defs": {"q": {"$anchor": "q"}}, "properties": {"a": {"$ref": "#q"}}},
    "id within": {
        "$id": "https://a.example/b",
        "$defs": {"q": {"$id": "c", "type": "integer"}},
        "properties": {"a": {"$ref": "https://a.example/c"}, "b": {"$ref": "c"}},
    },
    "dynamic": {"$dynamicAnchor": "n", "properties": {"c": {"$dynamicRef": "#n"}}},
    "names escaped": {"$defs": {"a/b~c%": {}}, "properties": {"a": {"$ref": "#/$defs/a~1b~0c%25"}}},
    "refers to a property": {"properties": {"a": {"type": "object"}, "b": {"$ref": "#/properties/a"}}},
    "an enum that looks like a schema": {"enum": [{"$ref": "http://a.example/"}, {"$id": 1}]},
    "unknown format and keyword": {"format": "order number", "x-owner": {"type": 7}},
    "unevaluated": {"allOf": [{"properties": {"a": True}}], "unevaluatedProperties": False},
    "a thousand strings": {"enum": [f"s{n}" for n in range(1_000)]},
    "900 references": {"properties": {f"k{n}": definition("q") for n in range(900)}, "$defs": {"q": {}}},
}  # fmt: skip
BAD: dict[str, tuple[Any, str]] = {
    "no schema": ([], "schema"),
    "other draft": ({"$schema": "http://json-schema.org/draft-07/schema#"}, "schema.$schema"),
    "other draft within": (
        {"$defs": {"a": {"$schema": "http://json-schema.org/draft-07/schema#"}}},
        "schema.$defs.a.$schema",
    ),
    "no type": ({"properties": {"a": {"type": "objekt"}}}, "schema.properties.a.type"),
    "remote": ({"properties": {"a": {"$ref": "http://127.0.0.1:1/x"}}}, "schema.properties.a.$ref"),
    "file": ({"$ref": "file:///etc/passwd"}, "schema.$ref"),
    "relative without an id": ({"$ref": "other.json"}, "schema.$ref"),
    "its own meta-schema": (
        {"$ref": "https://json-schema.org/draft/2020-12/schema"},
        "schema.$ref",
    ),
    "dangling": ({"$ref": "#/$defs/none"}, "schema.$ref"),
    "dangling anchor": ({"$ref": "#none"}, "schema.$ref"),
    "no schema there": ({"$ref": "#/enum/0", "enum": [{}]}, "schema.$ref"),
    "dynamic to nothing": ({"$dynamicRef": "#none"}, "schema.$dynamicRef"),
    "id twice": ({"$defs": {"a": {"$id": "u"}, "b": {"$id": "u"}}}, "schema.$defs.a.$id"),
    "anchor twice": (
        {"$defs": {"a": {"$anchor": "u"}, "b": {"$anchor": "u"}}},
        "schema.$defs.a.$anchor",
    ),
    "self": ({"$ref": "#"}, "schema"),
    "loop": ({"$defs": {"a": definition("b"), "b": definition("a")}, **definition("a")}, "schema"),
    "look-around": ({"pattern": "(?=a)b"}, "schema.pattern"),
    "backreference": ({"pattern": r"(a)\1"}, "schema.pattern"),
    "repeated a million times": ({"pattern": "((a{100}){100}){100}"}, "schema"),
    "large patterns": ({"patternProperties": {r"\p{L}{40}" + str(n): {} for n in range(9)}}, "schema"),
    "negative": ({"minLength": -1}, "schema.minLength"),
    "1,001 references": (
        {"$defs": {f"a{n}": definition(f"a{n + 1}") for n in range(1_001)} | {"a1001": {}}}
        | definition("a0"),
        "schema",
    ),
    "2^30 references": (doubling(30), "schema"),
    "2^30 alternatives": (doubling(30, "anyOf"), "schema"),
    "doubles with the depth of the payload": (
        {"$defs": {"a": {"items": {"allOf": [definition("a")] * 2}}}, **definition("a")},
        "schema",
    ),
    "doubles with its alternatives": (
        {"anyOf": [{"properties": {"a": {"$ref": "#"}}}, {"properties": {"a": {"$ref": "#"}}}]},
        "schema",
    ),
    "unevaluated within itself": (
        nested(40, {"properties": {"a": True}}, {"unevaluatedProperties": False}),
        "schema",
    ),
    "unevaluated and recursive": (
        {"anyOf": [{"properties": {"a": {"$ref": "#"}}}], "unevaluatedProperties": False},
        "schema",
    ),
    "8,000 arrays": ({"items": {"enum": [[n] for n in range(8_000)]}}, "schema"),
    "4,000 alternatives": ({"items": {"anyOf": [{"const": n} for n in range(4_000)]}}, "schema"),
    "3,000 fractions": ({"enum": [n + 0.5 for n in range(3_000)]}, "schema"),
    "entangled": ({"allOf": [{"properties": {f"k{n}": {"minLength": 1}}} for n in range(900)]}, "schema"),
}  # fmt: skip


@pytest.mark.parametrize("schema", GOOD.values(), ids=GOOD)
def test_what_a_schema_may_be(schema: Any) -> None:
    _, weight = judged(schema)
    assert 1 <= weight <= MAX_WEIGHT


@pytest.mark.parametrize(("schema", "path"), BAD.values(), ids=BAD)
def test_what_a_schema_may_not_be(schema: Any, path: str) -> None:
    with pytest.raises(Refusal) as refusal:
        judged(schema)
    assert refusal.value.code == "invalid_request"
    assert refusal.value.details[0].path.startswith(path)
    assert len(refusal.value.message) < 1_000


@pytest.mark.parametrize("seed", range(300))
def test_a_weight_is_never_less_than_what_is_examined(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    try:
        _, weight = judged(schema)
    except Refusal:
        return
    tally = Tally(schema)
    for _ in range(4):
        value = random_value(random)
        assert tally.count(value) <= weight * values_in(value)


@pytest.mark.parametrize("seed", range(300))
def test_an_outline_refuses_nothing_that_its_schema_accepts(seed: int) -> None:
    random = Random(seed)
    schema = random_schema(random)
    whole = jsonschema_rs.Draft202012Validator
    try:
        judged(schema)
        part = whole(outline(schema))
    except (Refusal, jsonschema_rs.ValidationError):
        return
    for _ in range(10):
        value = random_value(random)
        assert part.is_valid(value) or not whole(schema).is_valid(value)


# The most expensive schemas that the service accepts.
HEAVY: dict[str, Any] = {
    "arrays compared": within("items", {"enum": [[n] for n in range(450)]}),
    "alternatives": within("items", {"anyOf": [{"const": n} for n in range(600)]}),
    "fractions": within("items", {"enum": [n + 0.5 for n in range(130)]}),
    "required": within("items", {"required": [f"k{n}" for n in range(1_000)]}),
    "patterns": within("items", {"allOf": [{"pattern": f"[ab]*a[ab]{{{n}}}c"} for n in range(50, 84)]}),
    "all the same": within("allOf", [{"uniqueItems": True}] * 30),
    "doubled seven times": doubling(7),
    "any JSON value": VALUE,
}  # fmt: skip


@pytest.mark.parametrize("schema", HEAVY.values(), ids=HEAVY)
@pytest.mark.parametrize("item", ["1", '"ab"', "{}", "[[1]]", "0.5"])
def test_no_payload_asks_for_more_work_than_the_bound(schema: Any, item: str) -> None:
    compiled, weight = judged(schema)
    most = MAX_WORK // weight
    large = (
        f'{{"x":[{",".join([item] * min(200_000 // (len(item) + 1), most * 2 + 10))}]}}'.encode()
    )
    values = large.count(b",") + large.count(b"[") + large.count(b"{") + 1
    refused: tuple[str, ...] = ()
    if (values + len(large) // 32) * weight > MAX_WORK:
        with pytest.raises(Refusal) as refusal:
            compiled.check(large)
        refused = tuple(each.message for each in refusal.value.details)
        assert refused == ("has too many values for its schema",)


@pytest.mark.parametrize(
    ("payload", "schema", "conforms"),
    [
        (b'{"x":' + b"9" * 30 + b"}", {"type": "integer", "minimum": 10**29}, True),
        (b'{"x":' + b"9" * 30 + b"}", {"maximum": 10**29}, False),
        (b'{"x":' + b"9" * 200_000 + b"}", {"type": "integer", "minimum": 1}, True),
        (b'{"x":-' + b"9" * 200_000 + b"}", {"minimum": 1}, False),
        (b'{"x":5.00000000000000000001}', {"maximum": 5}, False),
        (b'{"x":123456789012345678.5}', {"maximum": 123456789012345678}, False),
        (b'{"x":1e999999}', {"type": "number"}, True),
        (b'{"x":1e999999999999}', {"maximum": 5}, False),
        (b'{"x":1.0}', {"type": "integer"}, True),
        (b'{"x":0.3}', {"multipleOf": 0.1}, True),
        (b'{"x":1}', {"const": 1.0}, True),
        (b'{"x":true}', {"const": 1}, False),
        (rb'{"x":"\ud800"}', {"minLength": 2}, False),
        (rb'{"x":"\ud800\u0041"}', {"minLength": 2, "maxLength": 2}, True),
        (rb'{"x":"\ud83d\ude00"}', {"maxLength": 1}, True),
        (rb'{"x":"\udc00"}', {"const": "A"}, False),
        ('{"x":"é😀"}'.encode(), {"maxLength": 2}, True),
        (rb'{"x":"\u0000"}', {"maxLength": 1}, True),
        (b'{"x":"s","x":1}', {"type": "integer"}, True),
        (b'{"x":1,"x":"s"}', {"type": "integer"}, False),
        (b'{"x":' + b"[" * 60 + b"]" * 60 + b"}", {"type": "array"}, True),
        (b'{"x":"not a mail"}', {"format": "email"}, False),
        (b'{"x":"2026-11-20T12:00:00Z"}', {"format": "date-time"}, True),
        (b'{"x":"("}', {"format": "regex"}, True),
        (b'{"x":"("}', {"format": "order number"}, True),
    ],
    ids=lambda each: str(each)[:40],
)
def test_values_are_judged_for_what_they_are(payload: bytes, schema: Any, conforms: bool) -> None:
    compiled, _ = judged({"properties": {"x": schema}})
    if conforms:
        compiled.check(payload)
    else:
        with pytest.raises(Refusal) as refusal:
            compiled.check(payload)
        assert refusal.value.code == "schema_violation"
        # The validator cannot locate a number of 200,000 digits.
        path = "payload.x" if len(payload) < 1_000 else "payload"
        assert [each.path for each in refusal.value.details] == [path]


def test_at_most_twenty_places_are_named_in_few_words() -> None:
    compiled, _ = judged({"additionalProperties": {"type": "integer"}})
    payload = json.dumps({f"k{n}": "x" * 1_000 for n in range(100)}).encode()
    with pytest.raises(Refusal) as refusal:
        compiled.check(payload)
    assert len(refusal.value.details) == 20
    assert all(len(each.message) <= 240 for each in refusal.value.details)


def test_of_a_large_payload_the_first_place_is_named_and_alternatives_are_not_told() -> None:
    rows = {
        "x": {"items": {"type": "string"}},
        "y": {"anyOf": [{"type": "null"}, VALUE["$ref"] and {}]},
    }
    compiled, _ = judged({"properties": rows})
    payload = json.dumps({"x": [1] * ALTERNATIVES_WORK}).encode()
    with pytest.raises(Refusal) as refusal:
        compiled.check(payload)
    assert [each.path for each in refusal.value.details] == ["payload.x[0]"]
    compiled, _ = judged(VALUE | {"$defs": {"value": VALUE["$defs"]["value"] | {"maxItems": 1}}})  # type: ignore[index]  # a dict
    with pytest.raises(Refusal) as refusal:
        compiled.check(payload)
    assert refusal.value.details[0].path in ("payload", "payload.x")


@pytest.mark.parametrize(
    ("pattern", "least", "most"),
    [
        ("abc", 3, 3),
        ("a{10}", 10, 10),
        ("(ab){2,5}", 10, 20),
        ("[a-z]{3,}", 12, 20),
        (r"\d{4}-\d{2}", 12, 20),
        (r"\p{L}+", 100, 200),
        ("((a{9}){9}){9}", 729, 1_000),
        ("(", 0, 1), (")", 0, 1), ("a{", 1, 3), ("[", 0, 1), ("\\", 0, 2), ("{2}", 0, 3),
    ],
)  # fmt: skip
def test_a_pattern_is_as_large_as_it_is_written_out(pattern: str, least: int, most: int) -> None:
    assert least <= pattern_size(pattern) <= most


def active(identifier: str, event_type: str, schema: Any = True) -> ActiveSchema:
    return ActiveSchema(identifier, 1, event_type, 1, json.dumps(schema).encode())


def test_what_was_compiled_longest_ago_rests_when_there_is_too_much() -> None:
    models = Models()
    schemas = ActiveSchemas(models, SchemaCompiler(most_bytes=60))
    for name in "abc":
        schemas.put(1, name, active(name, name, {"required": ["x" * 10]}))
    checks = [models.check_of(1, name) for name in "abc"]
    for _ in range(3):
        for check in checks:
            assert isinstance(check, SchemaCheck)
            with pytest.raises(Refusal):
                check.check(b"{}")
            assert sum(each.compiled for each in checks if isinstance(each, SchemaCheck)) <= 2


def test_an_active_schema_is_put_replaced_and_taken_away() -> None:
    models = Models()
    schemas = ActiveSchemas(models)
    schemas.put(1, "e", active("a", "e"))
    first, version = models.check_of(1, "e"), models.routing_version(1)
    schemas.put(1, "e", active("a", "e"))
    assert (models.check_of(1, "e"), models.routing_version(1)) == (first, version)
    schemas.put(1, "e", active("b", "e", False))
    assert models.check_of(1, "e") is not first
    assert schemas.types == {(1, "e")}
    schemas.put(1, "e", None)
    assert models.check_of(1, "e") is None
    assert schemas.types == set()


def test_a_schema_that_cannot_be_compiled_any_more_lets_events_through() -> None:
    check = SchemaCheck(active("a", "e", {"type": "objekt"}), SchemaCompiler())
    check.check(b"{}")


def test_a_compiled_schema_refuses_to_fetch() -> None:
    with pytest.raises(Refusal):
        CompiledSchema({"$ref": "http://127.0.0.1:1/x"}, 1)


@pytest.mark.parametrize(
    "schema",
    [
        {"pattern": r"\w" * 2_480},  # takes seconds
        {"patternProperties": {rf"\d\d{number}": False for number in range(300)}},  # takes 0.1 s
    ],
)
def test_a_stored_schema_beyond_a_newer_bound_is_not_compiled(schema: Any) -> None:
    """A schema can have been stored before a bound existed. Compiling it would block all other tasks."""
    check = SchemaCheck(active("a", "e", schema), SchemaCompiler())
    with capture_logs() as lines:
        check.check(b'{"x117":1}')  # both checks would refuse these payloads
        check.check(b'"x117"')
    assert [line["event"] for line in lines] == ["schema.unusable"]
    assert lines[0]["action"].startswith("create and activate a version")


def test_a_schema_is_compiled_in_steps_and_kept_once() -> None:
    """While the first event's check pauses, another event can finish compiling the schema."""
    compiler = SchemaCompiler()
    check = SchemaCheck(active("a", "e", {"pattern": "^a$"}), compiler)
    paused = 0

    def pause() -> None:
        nonlocal paused
        paused += 1
        if paused == 2:
            check.check(b'"a"')

    with pytest.raises(Refusal):
        check.check(b'"b"', pause)
    assert paused >= 4
    assert check.compiled
    assert len(compiler._compiled) == 1


def test_members_may_depend_on_true_and_false() -> None:
    """A schema can be the value true or false. Such a schema has no length, so computing a schema's
    weight must not use the length of its members' schemas."""
    compiled, weight = judged({"dependentSchemas": {"a": False, "b": True}})
    assert weight > 0
    compiled.check(b'{"b":1}')
    with pytest.raises(Refusal):
        compiled.check(b'{"a":1}')
