// What a context is made into before any tenant's source is compiled in it: a realm without a clock,
// without chance, without a compiler, and without anything that outlasts a call.
//
// Everything that is reachable is frozen, so that a context may serve one script again and again, and each
// call finds it as the first did. Evaluates to a function: given the compiled factory of a script, it
// returns `run(body, now, seed)`; `run(null)` then asks what a promise came to,
// and an empty body only whether there is a function to call. Lines that begin with slashes are cut and the rest is joined to one line,
// so that in a stack a line above the first is always the script's.
(function () {
  "use strict";
  const realm = globalThis;
  const { parse, stringify } = JSON;
  const { apply, construct, ownKeys, getPrototypeOf, defineProperty, getOwnPropertyDescriptor } = Reflect;
  const { freeze, hasOwn, keys } = Object;
  const { isArray } = Array;
  const { isError } = Error;
  const NativeDate = Date;
  const NativePromise = Promise;
  const call = Function.prototype.call;
  const then = call.bind(NativePromise.prototype.then);
  const text = String;

  // --- what is not there: compilers, other clocks, what the collector can be watched by, shared memory
  const compilers = [function () {}, function* () {}, async function () {}, async function* () {}];
  const refuse = (name) => {
    const stub = { [name]: function () { throw new EvalError("code cannot be made of text here"); } }[name];
    return stub;
  };
  for (const sample of compilers) {
    const prototype = getPrototypeOf(sample);
    const native = prototype.constructor;
    const stub = refuse(native.name);
    defineProperty(stub, "prototype", { value: prototype, writable: false });
    defineProperty(prototype, "constructor", { value: stub });
    if (native === realm.Function) {
      realm.Function = stub;
    }
  }
  for (const name of ["eval", "WeakRef", "FinalizationRegistry", "SharedArrayBuffer", "Atomics", "performance"]) {
    delete realm[name];
  }
  delete Error.stackTraceLimit;
  delete Error.prepareStackTrace;

  // --- the state of one call; nothing of a script can reach these
  let present = 0;
  let seed = "";
  let dice = null;
  let logs = "";
  let logged = false;
  let answer = null;
  let deaf = true;

  // --- the clock stands still
  const Clock = function Date(...parts) {
    if (new.target === undefined) {
      return new NativeDate(present).toString();
    }
    return construct(NativeDate, parts.length === 0 ? [present] : parts, new.target);
  };
  defineProperty(Clock, "length", { value: 7 });
  defineProperty(Clock, "prototype", { value: NativeDate.prototype, writable: false, enumerable: false });
  const statics = { now() { return present; }, parse: NativeDate.parse, UTC: NativeDate.UTC };
  for (const name of keys(statics)) {
    defineProperty(Clock, name, { value: statics[name], writable: true, configurable: true });
  }
  defineProperty(NativeDate.prototype, "constructor", { value: Clock });
  realm.Date = Clock;

  // --- chance comes from the seed: FNV-1a into four words, then sfc32
  const roll = (words) => {
    const sum = (words[0] + words[1] + words[3]) | 0;
    words[3] = (words[3] + 1) | 0;
    words[0] = words[1] ^ (words[1] >>> 9);
    words[1] = (words[2] + (words[2] << 3)) | 0;
    words[2] = ((words[2] << 21) | (words[2] >>> 11)) + sum | 0;
    return sum >>> 0;
  };
  const planted = () => {
    const words = [0, 0, 0, 1];
    for (let at = 0; at < 3; at += 1) {
      let hash = 2166136261 ^ at;
      for (let index = 0; index < seed.length; index += 1) {
        hash = Math.imul(hash ^ seed.charCodeAt(index), 16777619);
      }
      words[at] = hash;
    }
    for (let turn = 0; turn < 12; turn += 1) {
      roll(words);
    }
    return words;
  };
  const chance = {
    random() {
      if (dice === null) {
        dice = planted();
      }
      return ((roll(dice) >>> 5) * 67108864 + (roll(dice) >>> 6)) / 9007199254740992;
    },
  };
  defineProperty(Math, "random", { value: chance.random });

  // --- the console fills a page of 4 KiB, and is deaf when it is full
  const PAGE = 4200;
  const MARK = "\u2026";
  const NAMED = 500;
  const shown = (value) => {
    if (typeof value === "string") {
      return value;
    }
    if (typeof value === "object" && value !== null) {
      if (isError(value)) {
        return told(value);
      }
      return stringify(value) ?? text(value);
    }
    if (typeof value === "function") {
      return "[function]";
    }
    return typeof value === "bigint" ? text(value) + "n" : text(value);
  };
  const written = (prefix, values) => {
    if (deaf) {
      return;
    }
    let line = prefix;
    for (let index = 0; index < values.length && line.length < PAGE; index += 1) {
      let part;
      try {
        part = shown(values[index]);
      } catch {
        part = "[not shown]";
      }
      line += (index ? " " : "") + part.slice(0, PAGE);
    }
    if (deaf) {
      return;
    }
    logs += (logged ? "\n" : "") + line;
    logged = true;
    if (logs.length > PAGE) {
      logs = logs.slice(0, PAGE);
      deaf = true;
    }
  };
  const page = {
    log(...values) { written("", values); },
    info(...values) { written("[info] ", values); },
    warn(...values) { written("[warn] ", values); },
    error(...values) { written("[error] ", values); },
    debug(...values) { written("[debug] ", values); },
    trace(...values) { written("[trace] ", values); },
  };
  defineProperty(realm, "console", { value: page, writable: true, configurable: true });

  const microtask = {
    queueMicrotask(callback) {
      if (typeof callback !== "function") {
        throw new TypeError("not a function");
      }
      then(NativePromise.resolve(), () => { callback(); });
    },
  };
  realm.queueMicrotask = microtask.queueMicrotask;

  // --- what was thrown, in words; a value may do anything when it is asked for them
  const FRAME = /<input>:(\d+):(\d+)/g;
  const placed = (error) => {
    const stack = error.stack;
    if (typeof stack !== "string") {
      return "";
    }
    for (const [, line, column] of stack.slice(0, 8192).matchAll(FRAME)) {
      if (line > 1) {
        return ` (line ${line - 1}, column ${column})`;
      }
    }
    return "";
  };
  const told = (error) => {
    const name = text(error.name).slice(0, 100);
    const message = text(error.message).slice(0, NAMED);
    return message === "" ? name : `${name}: ${message}`;
  };
  const complaint = (error) => {
    try {
      if (isError(error)) {
        return told(error).slice(0, NAMED - 50) + placed(error);
      }
      if (error === null) {
        return "threw null, which is also what is thrown when there is no memory left for an error";
      }
      return "threw " + shown(error).slice(0, NAMED);
    } catch {
      return "threw a value that cannot be shown";
    }
  };

  // --- what a call comes to: lines of JSON, which hold no line ends of their own. They are joined, never
  // added: the library takes no string that the engine keeps in pieces.
  const LARGEST = 1048576;
  const BESIDE = 65536;
  const MARKS = ["$body", "$headers", "$type"];
  const failed = (message) => ["F", stringify(message.slice(0, NAMED)), ""];
  const json = (value) => {
    const result = stringify(value);
    if (result === undefined) {
      return null;
    }
    return result;
  };
  const kind = (value) => {
    if (value === undefined) {
      return "nothing: return the new body, or null to send none";
    }
    return typeof value === "object" ? "what JSON has no form for" : "a " + typeof value + ", which JSON has no form for";
  };
  const fits = (result, from) => {
    if (result === null) {
      return failed("transform returned " + kind(from));
    }
    return result.length > LARGEST ? failed("the result is larger than 1 MiB") : null;
  };
  const pairs = (headers) => {
    const found = [];
    for (const name of keys(headers)) {
      const value = headers[name];
      if (typeof value !== "string" && typeof value !== "number" && typeof value !== "boolean") {
        throw new TypeError("$headers." + name.slice(0, 100) + " is not a string");
      }
      found.push([name, text(value)]);
    }
    return found;
  };
  const retyped = (body, type) => {
    if (typeof body !== "object" || body === null || isArray(body)) {
      return body;
    }
    const copy = typeof body.toJSON === "function" ? parse(stringify(body)) : { ...body };
    if (typeof copy === "object" && copy !== null && typeof copy.type === "string") {
      copy.type = type;
    }
    return copy;
  };
  const enveloped = (given, event) => {
    for (const name of keys(given)) {
      if (!MARKS.includes(name)) {
        return failed("a result with $body, $headers or $type has nothing beside these; put the body into $body");
      }
    }
    let body = hasOwn(given, "$body") ? given.$body : event;
    const { $type: type = null, $headers: headers = null } = given;
    if (type !== null && typeof type !== "string") {
      return failed("$type is not a string");
    }
    if (headers !== null && (typeof headers !== "object" || isArray(headers))) {
      return failed("$headers is not an object");
    }
    if (type !== null) {
      body = retyped(body, type);
    }
    const result = json(body);
    const complaint = fits(result, body);
    if (complaint !== null) {
      return complaint;
    }
    const beside = stringify([type, headers === null ? [] : pairs(headers)]);
    if (beside.length > BESIDE) {
      return failed("$headers and $type are larger than 64 KiB");
    }
    return ["B", result, beside];
  };
  const concluded = (result, event) => {
    if (result === null) {
      return ["N", "", ""];
    }
    if (typeof result === "object") {
      if (hasOwn(result, "$body") || hasOwn(result, "$headers") || hasOwn(result, "$type")) {
        return enveloped(result, event);
      }
    }
    const body = json(result);
    return fits(body, result) ?? ["B", body, ""];
  };
  const closed = (conclusion) => {
    deaf = true;
    if (logged) {
      conclusion.push(stringify(logs));
    }
    return conclusion.join("\n");
  };

  // --- frozen, all that can be reached; properties that programs like to shadow stay assignable below
  const SHADOWED = ["constructor", "toString", "valueOf", "toLocaleString", "toJSON", "name", "message"];
  const shadowed = (holder, name, value) => {
    const accessor = {
      get() { return value; },
      set(own) {
        if (this === holder) {
          throw new TypeError("Cannot assign to read only property '" + name + "'");
        }
        defineProperty(this, name, { value: own, writable: true, enumerable: true, configurable: true });
      },
    };
    defineProperty(holder, name, { get: accessor.get, set: accessor.set, configurable: false });
  };
  const samples = [
    realm, ...compilers, [][Symbol.iterator](), ""[Symbol.iterator](), "".matchAll(/a/g),
    new Map().entries(), new Set().values(), (function* () {})(), (async function* () {})(),
    Iterator.from({ next() {} }), [].values().map((each) => each), (function () { return arguments; })(),
    NativePromise.resolve(), /a/, new NativeDate(0), Iterator.concat ? Iterator.concat([]) : {},
    getOwnPropertyDescriptor((function () { return arguments; })(), "callee")?.get,
    JSON.rawJSON ? JSON.rawJSON("0") : {}, new Error(), new DOMException(),
  ];
  const seen = new Set();
  const left = [...samples];
  const reach = (value) => {
    if ((typeof value === "object" && value !== null) || typeof value === "function") {
      if (!seen.has(value)) {
        seen.add(value);
        left.push(value);
      }
    }
  };
  while (left.length > 0) {
    const next = left.pop();
    seen.add(next);
    reach(getPrototypeOf(next));
    for (const key of ownKeys(next)) {
      const property = getOwnPropertyDescriptor(next, key);
      reach(property.value);
      reach(property.get);
      reach(property.set);
    }
  }
  for (const holder of seen) {
    if (typeof holder !== "object" || holder === realm) {
      continue;
    }
    const all = holder === Object.prototype;
    if (!all && !hasOwn(holder, "constructor")) {
      continue;
    }
    for (const name of all ? ownKeys(holder) : SHADOWED) {
      const property = getOwnPropertyDescriptor(holder, name);
      if (property !== undefined && "value" in property && property.configurable && typeof name === "string") {
        shadowed(holder, name, property.value);
        const made = getOwnPropertyDescriptor(holder, name);
        freeze(made.get);
        freeze(made.set);
      }
    }
  }
  for (const each of seen) {
    freeze(each);
  }

  return function (factory) {
    return function run(body, now, chosen) {
      if (body === null) {
        return answer.text ?? closed(failed("transform returned a promise that never settles"));
      }
      present = now;
      seed = chosen;
      dice = null;
      logs = "";
      logged = false;
      answer = null;
      deaf = false;
      try {
        const transform = factory();
        if (typeof transform !== "function") {
          return closed(failed("there is no function transform(event)"));
        }
        if (body === "") {
          return "N";
        }
        const event = parse(body);
        const result = transform(event);
        if (typeof result !== "object" || result === null || typeof result.then !== "function") {
          return closed(concluded(result, event));
        }
        const mine = (answer = { text: null });
        then(
          NativePromise.resolve(result),
          (value) => {
            try {
              mine.text = closed(concluded(value, event));
            } catch (error) {
              mine.text = closed(failed(complaint(error)));
            }
          },
          (error) => { mine.text = closed(failed(complaint(error))); },
        );
        return "P";
      } catch (error) {
        return closed(failed(complaint(error)));
      }
    };
  };
})()
