"""Isolation of runs. No run finds state of another run, neither in the objects that a script can see nor
inside the JavaScript engine."""

# ruff: noqa: E501 (a case is a line)

import json
from typing import Any

import pytest

from engine.outbound.ports import Failure, Transformed
from tests.transforms.house import NOW_MS, function, open_pool, performed, value_of

# Each case: (what could keep state, the code before the function, the function's body). If an earlier run
# has left state, the function finds the state and returns it.
STATE = [
    ("a variable", "let n = 0; var m = 0; const list = [];", "n++; m++; list.push(1); return [n, m, list];"),
    ("a closure", "const next = (() => { let n = 0; return () => ++n; })();", "return next();"),
    ("a property of the function", "", "transform.n = (transform.n ?? 0) + 1; return transform.n;"),
    ("a static member", "class A { static n = 0; static #m = 0; static add() { return [++A.n, ++A.#m]; } }",
     "return A.add();"),
    ("an expression's place", "const all = /a/g;", "return [all.test('aa'), all.lastIndex, /b/g.lastIndex];"),
    ("a template's strings", "const tag = (strings) => strings; const kept = new WeakMap();",
     "const key = tag`x`; const had = kept.has(key); kept.set(key, 1); return had;"),
    ("a generator", "const numbers = (function* () { yield* [1, 2, 3]; })();", "return numbers.next().value;"),
    ("a registered symbol", "const s = Symbol.for('ours');",
     "const had = []; for (const o of [Object, Array, JSON, Math, console, transform]) had.push(s in o); return had;"),
    ("a weak map of what all share", "const m = new WeakMap();",
     "const had = m.has(Array.prototype); m.set(Array.prototype, 1); return had;"),
    ("a private name on what all share",
     "class Same { constructor(o) { return o; } } class Stamp extends Same { #x = 1; static has(o) { return #x in o; } }",
     "const had = Stamp.has(Array.prototype); try { new Stamp(Array.prototype); } catch {} return had;"),
    ("chance", "", "return [Math.random(), Math.random()];"),
    ("the clock", "const at = Date.now();", "return [at, Date.now(), new Date().getTime(), Date()];"),
    ("the console", "", "try { console.n = 1; } catch {} return console.n ?? null;"),
    ("stacks", "", "try { Error.stackTraceLimit = 0; } catch {} return new Error('x').stack.length > 0;"),
    ("a promise that comes late", "", "Promise.resolve().then(() => { console.log('late'); event.late = 1; }); return event;"),
    ("an async function left in the middle", "", "(async () => { await new Promise(() => {}); })(); return 1;"),
    ("arguments", "const given = typeof arguments === 'undefined' ? 0 : arguments.length;", "return given;"),
    ("a global by way of this", "const self = this;", "return self === undefined;"),
    ("globalThis", "", "try { globalThis.n = 1; } catch {} return typeof n;"),
    ("iterators", "const i = [1, 2][Symbol.iterator]();",
     "const p = Object.getPrototypeOf(i); try { p.next = () => ({ done: true }); } catch {} return [i.next().value, ...[1]];"),
    ("a bound function", "const f = Array.prototype.push.bind([]);", "return f(1);"),
    ("a name that is shadowed", "", "const o = {}; o.valueOf = () => 1; try { Object.prototype.valueOf = 1; } catch {} return typeof ({}).valueOf;"),
    ("a setter that is borrowed", "",
     "const d = Object.getOwnPropertyDescriptor(Object.prototype, 'toString');"
     "try { d.set.call(Array.prototype, 1); } catch {} try { d.set.call(Object.prototype, 1); } catch {}"
     "return [typeof [].toString, typeof ({}).toString];"),
]  # fmt: skip


@pytest.mark.parametrize(("what", "before", "body"), STATE, ids=[each[0] for each in STATE])
async def test_each_run_is_as_the_first(what: str, before: str, body: str) -> None:
    async with open_pool(1) as pool:
        source = function(body, before)
        first = await performed(pool, source)
        assert isinstance(first, Transformed), first
        for _ in range(3):
            again = await performed(pool, source)
            assert isinstance(again, Transformed)
            assert (again.body, again.logs) == (first.body, first.logs)


# This script visits every object that a script can reach. It starts from the global object and from one
# value of each kind in the language.
WALK = """
const seen = new Set();
const open = [];
const left = [];
const up = (generator) => Object.getPrototypeOf(generator);  // each function has one of its own
const reach = (value, path) => {
  if ((typeof value === "object" && value !== null) || typeof value === "function") {
    if (!seen.has(value)) { seen.add(value); left.push([value, path]); }
  }
};
function transform() {
  const mine = (function () { return [
    ["global", globalThis], ["[]", [][Symbol.iterator]()], ["''", ""[Symbol.iterator]()],
    ["match", "a".matchAll(/a/g)], ["map", new Map().entries()], ["set", new Set().values()],
    ["gen", up((function* () {})())], ["agen", up((async function* () {})())], ["async", (async () => {})()],
    ["wrap", Iterator.from({ next() {} })], ["helper", [].values().map((n) => n)],
    ["drop", [].values().drop(1)], ["flat", [].values().flatMap((n) => [n])], ["regexp", /a/],
    ["date", new Date()], ["error", new TypeError("x")], ["aggregate", new AggregateError([])],
    ["bound", (() => 1).bind(null)], ["class", class extends Array {}], ["buffer", new ArrayBuffer(1)],
    ["resizable", new ArrayBuffer(1, { maxByteLength: 2 })], ["view", new DataView(new ArrayBuffer(1))],
    ["typed", new Uint8Array(1)], ["typed[]", new Float32Array(1).values()], ["big", Object(1n)],
    ["symbol", Object(Symbol())], ["arguments", arguments], ["revocable", Proxy.revocable({}, {})],
    ["resolvers", Promise.withResolvers()], ["stack", new DisposableStack()], ["dom", new DOMException()],
    ["astack", new AsyncDisposableStack()], ["weak", new WeakMap()], ["raw", JSON.rawJSON("1")],
    ["concat", Iterator.concat([1])], ["groups", /(?<a>a)/.exec("a").groups],
    ["zip", Iterator.zip ? Iterator.zip([[1]]) : {}], ["template", ((strings) => strings)`x`],
    ["async from sync", up((async function* () { yield* [1]; })())],
  ]; })();
  for (const [path, value] of mine) {
    // What was made just now is the script's own; what it comes from is everybody's.
    if (path !== "global") {
      seen.add(value);
      for (let up = Object.getPrototypeOf(value); up !== null; up = Object.getPrototypeOf(up)) reach(up, path);
    } else {
      reach(value, path);
    }
    for (const key of Reflect.ownKeys(value)) {
      const { get, set } = Reflect.getOwnPropertyDescriptor(value, key);
      reach(get, path + "." + String(key)); reach(set, path + "." + String(key));
    }
  }
  while (left.length > 0) {
    const [value, path] = left.pop();
    if (!Object.isFrozen(value)) open.push(path);
    reach(Object.getPrototypeOf(value), path + ".__proto__");
    for (const key of Reflect.ownKeys(value)) {
      const found = Reflect.getOwnPropertyDescriptor(value, key);
      for (const part of ["value", "get", "set"]) reach(found[part], path + "." + String(key));
    }
  }
  return { open, count: seen.size };
}
"""


async def test_everything_that_can_be_reached_is_frozen() -> None:
    async with open_pool(1) as pool:
        found: Any = await value_of(pool, WALK)
        assert found["open"] == []
        assert found["count"] > 800


async def test_native_code_that_reads_a_clock_or_makes_chance_cannot_be_reached() -> None:
    source = function(
        "return [new Date(0).constructor.now(), Reflect.construct(Date, []).getTime(),"
        " Object.getPrototypeOf(new Date()).constructor.now(), Math.random.call(null) < 1,"
        " typeof Date.prototype.constructor('x'), new (class extends Date {})().getTime()];"
    )
    async with open_pool(1) as pool:
        assert await value_of(pool, source) == [NOW_MS, NOW_MS, NOW_MS, True, "string", NOW_MS]


async def test_the_same_source_body_and_seed_give_the_same_bytes_in_every_worker() -> None:
    body = (
        "return { r: Array.from({length: 20}, Math.random), d: new Date(), l: new Date().toLocaleString(),"
        " z: new Date().getTimezoneOffset(), s: [3, 1, 2].sort(), k: Object.keys({ b: 1, a: 2, 1: 3 }) };"
    )
    results = []
    for workers in (1, 2, 4):
        async with open_pool(workers) as pool:
            result = await performed(pool, function(body))
            assert isinstance(result, Transformed)
            results.append(result.body)
            other = await performed(pool, function(body), seed="evt_2")
            assert isinstance(other, Transformed)
            assert json.loads(other.body)["r"] != json.loads(result.body)["r"]
    assert len(set(results)) == 1


async def test_chance_is_spread_evenly() -> None:
    source = function(
        "let n = 0; for (let i = 0; i < 5000; i++) n += Math.random(); return n / 5000;"
    )
    async with open_pool(1) as pool:
        mean: Any = await value_of(pool, source)
        assert 0.48 < mean < 0.52  # the seed is fixed


async def test_a_run_that_was_broken_off_leaves_nothing_to_the_next() -> None:
    # The script changes a global variable and the position of a global regular expression. If the event's
    # data is "loop", the script then loops until the time limit ends it.
    before = "let n = 0; const all = /a/g;"
    body = "n++; all.test('aaa'); if (event.data === 'loop') for (;;) {} return [n, all.lastIndex];"
    async with open_pool(1) as pool:
        assert await value_of(pool, function(body, before), b'{"data":1}') == [1, 1]
        for _ in range(2):
            failed = await performed(pool, function(body, before), b'{"data":"loop"}')
            assert isinstance(failed, Failure)
            assert await value_of(pool, function(body, before), b'{"data":1}') == [1, 1]


async def test_what_a_run_leaves_in_the_queue_of_jobs_never_writes_into_a_later_ones_log() -> None:
    body = (
        "const say = (n) => { console.log(event.data, n); if (n < 200) Promise.resolve().then(() => say(n + 1)); };"
        " say(0); return 1;"
    )
    async with open_pool(1) as pool:
        for text in ("first", "second"):
            result = await performed(pool, function(body), json.dumps({"data": text}).encode())
            assert isinstance(result, Transformed)
            assert result.logs == f"{text} 0".encode()


async def test_the_same_source_of_two_workspaces_has_two_contexts() -> None:
    source = function("return 1;")
    async with open_pool(1) as pool:
        for workspace in ("one", "two"):
            assert isinstance(await performed(pool, source, workspace=workspace), Transformed)
        link = pool._links[0]
        assert link is not None
        assert len(link._sources) == 2
