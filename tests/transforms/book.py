"""A table of hostile scripts. A script's `name` says what the script tries, and `ends` how it must end.
If `ends` is a tuple, the script must fail, and its message must contain one of these texts. For a script
whose attack has no effect, `ends` is the value that the script must return.
"""

# ruff: noqa: E501 (a page is a line)

from dataclasses import dataclass

from engine.transforms.worker import TOO_LONG

CPU = "the script took"  # too much CPU or too long: the machine decides which limit applies first
MEMORY = (
    "out of memory",
    "too long",
    "too many captures",
    "memory left",
    "invalid string length",
    "invalid array",
    "call stack",
)


@dataclass(frozen=True)
class Page:
    """A hostile script. `burns`: True if the script can run until its time limit. This takes long, so a
    test with many runs uses such scripts less often than others."""

    name: str
    body: str
    ends: object
    before: str = ""
    kind: str = ""

    @property
    def source(self) -> str:
        return f"{self.before}\n{self.kind}function transform(event) {{ {self.body} }}"

    @property
    def burns(self) -> bool:
        return isinstance(self.ends, tuple) and CPU in self.ends


def burner(name: str, body: str, before: str = "", kind: str = "") -> Page:
    """Return a script that usually reaches the time limit. On a fast computer, it can reach the memory
    limit first."""
    return Page(name, body, (CPU, *MEMORY), before, kind)


def bomb(name: str, body: str, before: str = "") -> Page:
    """Return a script that usually reaches the memory limit. On a slow computer, it can reach the time
    limit first."""
    return Page(name, body, (*MEMORY, CPU), before)


def failing(name: str, body: str, message: str, before: str = "", kind: str = "") -> Page:
    return Page(name, body, (message,), before, kind)


BOOK = (
    # --- time
    burner("an endless loop", "for (;;) {}"),
    burner("an endless loop before the function", "return 1;", "for (;;) {}"),
    burner("a loop that catches", "for (;;) { try { for (;;) {} } catch {} finally { continue; } }"),
    burner("a label that is continued", "outer: for (;;) { for (;;) { continue outer; } }"),
    burner("a catastrophic expression", "return /^(a+)+$/.test('a'.repeat(40) + '!');"),
    burner("a comparator without end", "return [2, 1].sort(() => { for (;;) {} });"),
    burner("a sort of much", "for (;;) Array.from({length: 1e5}, (_, n) => -n).sort();"),
    burner("a search in much", "const s = 'x'.repeat(2e7); for (;;) s.indexOf('y');"),
    burner("a getter without end", "return { get a() { for (;;) {} } };"),
    burner("toJSON without end", "return { toJSON() { for (;;) {} } };"),
    burner("a proxy without end", "return new Proxy({}, { ownKeys() { for (;;) {} } });"),
    burner("a getter on $body", "return { get $body() { for (;;) {} } };"),
    burner("a thrown value that is asked for words",
           "throw Object.defineProperty(new Error(), 'message', { get() { for (;;) {} } });"),
    burner("a console that is shown a trap", "console.log({ toJSON() { for (;;) {} } }); return 1;"),
    burner("a generator without end", "for (const n of (function* () { for (;;) yield 1; })()) {}"),
    burner("numbers without end", "let n = 3n; for (;;) n = n * n;"),
    burner("a power", "return String(7n ** (2n ** 22n)).length;"),
    burner("promises that make each other",
           "return new Promise(() => { const go = () => Promise.resolve().then(go); go(); });"),
    burner("an async recursion", "return transform(await 1);", kind="async "),
    burner("microtasks that make each other", "const go = () => queueMicrotask(go); go(); await 1; for (;;) await 1;",
           kind="async "),
    burner("a loop after the first await", "await 1; for (;;) {}", kind="async "),
    burner("a thenable without end", "return { then() { for (;;) {} } };"),
    burner("replacements without end", "let s = 'ab'; for (;;) s = s.replace(/a/g, 'aa').slice(0, 1e6);"),
    # --- memory
    bomb("arrays without end", "const all = []; for (;;) all.push(new Array(1000).fill(event));"),
    bomb("a string that doubles", "let s = 'x'; for (;;) s += s; "),
    bomb("a repeated string", "return 'x'.repeat(2 ** 29);"),
    bomb("a padded string", "return 'x'.padStart(2 ** 29, 'yz');"),
    bomb("a buffer", "return new ArrayBuffer(2 ** 30).byteLength;"),
    bomb("a typed array", "return new Float64Array(2 ** 28).length;"),
    bomb("a filled array", "return new Array(2 ** 27).fill(0).length;"),
    bomb("a map without end", "const m = new Map(); for (let n = 0; ; n++) m.set(n, {});"),
    bomb("symbols without end", "for (let n = 0; ; n++) Symbol.for('s' + n + 'x'.repeat(1000));"),
    bomb("closures without end", "let f = () => 1; for (;;) { const g = f; f = () => g; }"),
    bomb("an expression of expressions", "return new RegExp('(a{1,1000}){1,1000}'.repeat(5000)).test('a');"),
    # --- the stack
    failing("recursion", "return transform(event);", "call stack"),
    failing("recursion by way of a getter", "const o = { get a() { return this.a; } }; return o.a;", "call stack"),
    failing("recursion by way of toString", "const o = { toString() { return `${this}`; } }; return `${o}`;", "call stack"),
    failing("recursion by way of a proxy",
            "const p = new Proxy({}, {}); Object.setPrototypeOf(p, p); return p.x;", ""),
    failing("deep JSON", "return JSON.parse('['.repeat(2e4) + ']'.repeat(2e4));", "call stack"),
    failing("a deep result", "let o = {}; for (let n = 0; n < 2e4; n++) o = { o }; return o;", "call stack"),
    # --- results
    failing("a result that holds itself", "const o = {}; o.o = o; return o;", "circular"),
    failing("a giant result", "return 'x'.repeat(2e6);", "larger than 1 MiB"),
    failing("a result of wide characters", "return '\\u20ac'.repeat(5e5);", "larger than 1 MiB"),
    failing("nothing", "", "returned nothing"),
    failing("a function", "return () => 1;", "a function"),
    failing("a symbol", "return Symbol();", "a symbol"),
    failing("a number beyond JSON", "return 1n;", "BigInt"),
    failing("toJSON that gives nothing", "return { toJSON() {} };", "what JSON has no form for"),
    failing("marks and more", "return { $body: {}, data: 1 };", "nothing beside these"),
    failing("a header that ends the line", "return { $headers: { a: 'b\\r\\nc: d' } };", "control characters"),
    failing("a header of ours", "return { $headers: { 'Webhook-Signature': 'v1,x' } };", "reserved"),
    failing("a header that frames", "return { $headers: { 'Content-Length': '0' } };", "reserved"),
    failing("giant headers", "return { $headers: { a: 'x'.repeat(2e5) } };", "larger than 64 KiB"),
    failing("headers that are none", "return { $headers: ['a'] };", "not an object"),
    failing("a type that is none", "return { $type: 'a b' };", "$type"),
    failing("a type of ours", "return { $type: 'angarium.x' };", "reserved for the service"),
    failing("a promise that never settles", "return new Promise(() => {});", "never settles"),
    failing("a thenable that never answers", "return { then() {} };", "never settles"),
    failing("a promise that is broken", "throw new TypeError('no');", "TypeError: no", kind="async "),
    failing("a thrown nothing", "throw undefined;", "threw undefined"),
    failing("a thrown symbol", "throw Symbol('s');", "threw Symbol(s)"),
    failing("a thrown trap", "throw new Proxy({}, { get() { throw 1; } });", "threw"),
    failing("a thrown book", "throw 'yo'.repeat(1e6);", "threw yoyo"),
    # --- escapes
    failing("a compiler", "return Function('return this')();", "cannot be made of text"),
    failing("a compiler behind a constructor", "return (() => {}).constructor('return 1')();", "cannot be made of text"),
    failing("a compiler of generators", "return (function* () {}).constructor('yield 1')();", "cannot be made of text"),
    failing("a compiler of promises", "return (async () => {}).constructor('1')();", "cannot be made of text"),
    failing("eval", "return (0, eval)('1');", "eval is not defined"),
    failing("a module", "return require('os');", "require is not defined"),
    failing("an import", "return import('os');", ""),
    failing("a process", "return process.env;", "process is not defined"),
    failing("the network", "return fetch('http://127.0.0.1');", "fetch is not defined"),
    failing("a wait", "Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1e6);", "is not defined"),
    failing("a weak reference", "return new WeakRef({});", "WeakRef is not defined"),
    failing("a finalizer", "return new FinalizationRegistry(() => 1);", "is not defined"),
    failing("a clock", "return performance.now();", "performance is not defined"),
    failing("a timer", "setTimeout(() => {}, 0);", "setTimeout is not defined"),
    failing("a global", "leaked = 1;", "leaked is not defined"),
    failing("a prototype", "Array.prototype.map = () => 'mine';", "read"),
    failing("a prototype that is swapped", "Object.setPrototypeOf(Array.prototype, {});", ""),
    failing("a property of everything", "Object.prototype.polluted = 1;", "extensible"),
    failing("a property by way of __proto__", "({}).__proto__.polluted = 1;", "extensible"),
    failing("an accessor on everything", "Object.defineProperty(Object.prototype, 'x', { get() { return 1; } });", "extensible"),
    failing("JSON for all", "JSON.stringify = () => 'mine';", "read"),
    failing("a promise for all", "Promise.prototype.then = () => 'mine';", "read"),
    failing("a stack for all", "Error.prepareStackTrace = () => 'mine';", "extensible"),
    failing("a caller", "return transform.caller;", ""),
    failing("with", "with (event) { return type; }", "with"),
    failing("an end of the function", "} ; for (;;) {} ; {", "", before="});"),
    # --- harmless, therefore allowed
    Page("no message of the worker's", "console.log('\\u0000\\n\\nB\\n{}\\n'); return 'F\\n1\\n\\n';", "F\n1\n\n"),
    Page("a body that is a prototype", "return JSON.parse('{\"__proto__\": {\"a\": 1}, \"b\": 2}');",
         {"__proto__": {"a": 1}, "b": 2}),
    Page("sparse", "const a = []; a[4] = 1; return a;", [None, None, None, None, 1]),
    Page("frozen", "return Object.freeze({ type: 'x' });", {"type": "x"}),
    Page("no prototype", "return Object.assign(Object.create(null), { a: 1 });", {"a": 1}),
    Page("numbers JSON has not", "return [NaN, Infinity, -0, undefined];", [None, None, 0, None]),
    Page("halves of characters", "return '\\ud800'.length;", 1),
    Page("shadowed names", "const o = {}; o.toString = 1; o.constructor = 2; o.hasOwnProperty = 3; return o;",
         {"toString": 1, "constructor": 2, "hasOwnProperty": 3}),
    Page("a log without end", "for (let n = 0; n < 1e3; n++) console.log('x'.repeat(100)); return 1;", 1),
    Page("a microtask that throws", "queueMicrotask(() => { throw { toString() { for (;;) {} } }; }); return 1;", 1),
    Page("a rejection that nobody hears", "Promise.reject(new Error('x')); return 1;", 1),
)  # fmt: skip

HEALTHY = """
let runs = 0;
const seen = new Set();
function transform(event) {
  runs += 1;
  seen.add(event.id);
  return { runs, seen: seen.size, id: event.id, at: Date.now(), polluted: ({}).polluted, map: [1].map((n) => n) };
}
"""
assert TOO_LONG.startswith(CPU)
