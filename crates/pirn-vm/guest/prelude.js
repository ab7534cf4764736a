// The script's side of the contract. Evaluated once, at build time, after the files in prelude/; what it leaves behind is part
// of the memory image.
//
// Everything it uses is frozen before a script starts, so plain method calls are safe here. Values that come from a script may
// still be proxies and getters: they are only touched where the contract says that a value is read.
(function (native, shared) {
  "use strict";

  const CALL_GLOBAL = 1, CALL_TIMER_SET = 2, CALL_TIMER_CLEAR = 3;
  const TOOL_FIND = 10, TOOL_MEMBERS = 11, TOOL_LIST = 12;
  const TEXT = 0, IMAGE = 2, AUDIO = 3, NOTIFY = 4, YIELD = 5, VALUE = 6, ERROR = 7, STORE = 8, EXIT = 9, LAST_STATEMENT = 13;
  /** Longest list of names that an error about an unknown tool spells out. */
  const NAMES_LISTED_MAX = 20;
  const CLOSE_NAMES_MAX = 5;
  /** setTimeout's range, as everywhere: a longer delay becomes the shortest one. */
  const DELAY_MS_MAX = 2147483647;
  /** Timers that may be pending at once; each costs the host an entry. */
  const TIMERS_MAX = 100000;
  /** As many as calls that may run at once. */
  const PARALLEL_DEFAULT = 64;
  /** Timers and functions that a sentence names. */
  const PLACES_MAX = 3;

  const { stringify } = JSON;
  const { isObject, note, written, guards, guarded } = shared;
  const global = globalThis;
  const limits = { characters: 16777216, items: 100000, storeValue: 262144, storeTotal: 1048576 };
  let characters = 0;
  let items = 0;
  let stored = new Map();
  let storedCharacters = 0;
  const storeWrites = new Map();
  const timers = new Map();
  let nextTimer = 1;
  /** Pending sleeps, which hold a script whose last statement was reached; other timers do not. */
  let sleeps = 0;
  /** Promises that were rejected while nobody listened, with their reasons. */
  const { rejections } = native;
  /** What a script returns that reaches its last statement; it cannot be had otherwise. */
  const END = Object.freeze({});
  /** What errors say: `describe` of the file about them. */
  const { describe } = shared;

  // ------------------------------------------------------------------------------------------ output

  /** Ends the script with an error that nothing can catch. */
  function fail(error) {
    sayError(error);
    native.stop();
  }

  /** Tells the host of an error, also when the script holds all the memory it may have. */
  function sayError(error) {
    native.reserve();
    try {
      native.output(ERROR, stringify(describe(error)));
    } catch {
      native.giveUp();
    }
  }

  function emit(kind, payload, length) {
    if (items + 1 > limits.items || characters + length > limits.characters) {
      fail(new RangeError(`Script output exceeds the limit of ${limits.characters} characters or ${limits.items} items`));
    }
    items += 1;
    characters += length;
    native.output(kind, payload);
  }

  function toText(value, what) {
    if (typeof value === "string") return value;
    if (!isObject(value)) return String(value);
    const json = written(value, what, false);
    return json === undefined ? String(value) : json;
  }

  function text(value) {
    const shown = toText(value, "text()");
    emit(TEXT, shown, shown.length);
  }

  // ------------------------------------------------------------------------------------------ images and audio

  const BASE64 = /^[A-Za-z0-9+/]+$/;
  /** Characters matched at once: the engine's matcher takes memory for each. */
  const MATCHED_MAX = 1 << 16;

  function base64Of(url, what) {
    if (/^https?:/i.test(url)) {
      throw new TypeError(`${what} cannot load ${url.slice(0, 60)}: fetch the data with a tool and pass a data: URL`);
    }
    const comma = url.indexOf(",");
    if (comma < 0 || url.slice(0, 5).toLowerCase() !== "data:") {
      throw new TypeError(`${what} needs a data: URL, an object with one, or a content block`);
    }
    const head = url.slice(5, comma);
    if (!/;\s*base64\s*$/i.test(head)) throw new TypeError(`${what} needs a data: URL with ;base64`);
    return { data: url.slice(comma + 1), declared: head.split(";")[0].trim().toLowerCase() };
  }

  function checkBase64(data, what) {
    const compact = data.replace(/[\t\n\f\r ]+/g, "");
    const padding = compact.endsWith("==") ? 2 : compact.endsWith("=") ? 1 : 0;
    const end = compact.length - padding;
    let isValid = end > 0 && compact.length % 4 === 0;
    for (let at = 0; isValid && at < end; at += MATCHED_MAX) {
      isValid = BASE64.test(compact.slice(at, Math.min(at + MATCHED_MAX, end)));
    }
    if (!isValid) throw new TypeError(`${what} was given data that is not valid base64`);
    return compact;
  }

  /** The first `count` bytes of checked base64. */
  function headBytes(data, count) {
    const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const bytes = [];
    for (let at = 0; at < data.length && bytes.length < count; at += 4) {
      let word = 0, valid = 0;
      for (let index = at; index < at + 4; index++) {
        const six = data[index] === "=" ? -1 : alphabet.indexOf(data[index]);
        word = (word << 6) | (six < 0 ? 0 : six);
        if (six >= 0) valid += 1;
      }
      for (let byte = 0; byte < valid - 1; byte++) bytes.push((word >> (16 - 8 * byte)) & 255);
    }
    return bytes.slice(0, count);
  }

  const startsWith = (bytes, prefix, from = 0) => prefix.every((byte, index) => bytes[from + index] === byte);
  const codes = (ascii) => [...ascii].map((character) => character.charCodeAt(0));
  const PNG = [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a];
  const GIF87 = codes("GIF87a"), GIF89 = codes("GIF89a"), RIFF = codes("RIFF"), WEBP = codes("WEBP");

  function imageType(bytes) {
    if (startsWith(bytes, PNG)) return "image/png";
    // FF F7 is JPEG-LS, which no model reads.
    if (startsWith(bytes, [0xff, 0xd8, 0xff]) && bytes[3] !== 0xf7) return "image/jpeg";
    if (startsWith(bytes, GIF87) || startsWith(bytes, GIF89)) return "image/gif";
    if (startsWith(bytes, RIFF) && startsWith(bytes, WEBP, 8)) return "image/webp";
    return undefined;
  }

  const DETAILS = ["auto", "low", "high", "original"];

  function image(value, detail) {
    let source;
    let wanted = detail;
    if (typeof value === "string") {
      source = base64Of(value, "image()").data;
    } else if (isObject(value) && !Array.isArray(value)) {
      const { image_url: url, type, data, detail: inner } = value;
      if (typeof url === "string") {
        source = base64Of(url, "image()").data;
        if (wanted === undefined && inner !== undefined && inner !== null) wanted = inner;
      } else if (type === "image" && typeof data === "string" && data !== "") {
        source = /^data:/i.test(data) ? base64Of(data, "image()").data : data;
      }
    }
    if (source === undefined) {
      throw new TypeError("image() needs a data: URL, {image_url}, or an image block {type: \"image\", data}");
    }
    if (wanted !== undefined && wanted !== null && !DETAILS.includes(wanted)) {
      throw new TypeError(`image() detail must be one of ${DETAILS.join(", ")}`);
    }
    const compact = checkBase64(source, "image()");
    const mimeType = imageType(headBytes(compact, 16));
    if (mimeType === undefined) throw new TypeError("image() reads PNG, JPEG, GIF and WebP; the data is none of them");
    emit(IMAGE, `${mimeType}\n${wanted ?? ""}\n${compact}`, compact.length);
  }

  function audio(value) {
    let source;
    let declared;
    if (typeof value === "string") {
      ({ data: source, declared } = base64Of(value, "audio()"));
    } else if (isObject(value) && !Array.isArray(value)) {
      const { audio_url: url, type, data, mimeType } = value;
      if (typeof url === "string") {
        ({ data: source, declared } = base64Of(url, "audio()"));
      } else if (type === "audio" && typeof data === "string" && data !== "") {
        source = data;
        declared = typeof mimeType === "string" ? mimeType.toLowerCase() : "";
      }
    }
    if (source === undefined) {
      throw new TypeError("audio() needs a data: URL, {audio_url}, or an audio block {type: \"audio\", data, mimeType}");
    }
    if (!/^audio\/[a-z0-9.+-]+$/.test(declared)) throw new TypeError("audio() needs an audio/... media type");
    const compact = checkBase64(source, "audio()");
    emit(AUDIO, `${declared}\n\n${compact}`, compact.length);
  }

  // ------------------------------------------------------------------------------------------ errors

  /** The error a failed call rejects with. `site` is where the call was made. */
  function makeError({ message, tool, callId, kind, data }, site) {
    const error = new Error(message);
    const extra = { tool, callId, kind, data };
    for (const key of Object.keys(extra)) {
      if (extra[key] === undefined) continue;
      Object.defineProperty(error, key, { value: extra[key], writable: true, configurable: true, enumerable: false });
    }
    const stack = site === undefined ? "" : `    at tools.${tool ?? "call"} (${site})\n`;
    Object.defineProperty(error, "stack", { value: stack, writable: true, configurable: true, enumerable: false });
    return error;
  }

  // ------------------------------------------------------------------------------------------ calls

  function callable(kind, name, spread) {
    const call = (...values) => {
      let json;
      try {
        json = spread ? stringify(values) : written(values[0], `The argument of ${name}`, true);
      } catch (error) {
        return Promise.reject(error);
      }
      return native.call(kind, name, json);
    };
    return Object.freeze(call);
  }

  // ------------------------------------------------------------------------------------------ store

  function checkKey(key, what) {
    if (typeof key !== "string") throw new TypeError(`${what} needs a string as key`);
  }

  function store(key, value) {
    checkKey(key, "store()");
    let json;
    if (value !== undefined) {
      json = written(value, "store()", true);
      if (json === undefined) throw new TypeError("store() takes JSON values only");
      if (json.length > limits.storeValue) {
        throw new RangeError(`store(): the value has ${json.length} characters of JSON, the limit is ` +
          `${limits.storeValue}. Keep large data in a file and store its path.`);
      }
    }
    const before = stored.get(key);
    const freed = before === undefined ? 0 : key.length + before.length;
    const total = storedCharacters - freed + (json === undefined ? 0 : key.length + json.length);
    if (json !== undefined && total > limits.storeTotal) {
      throw new RangeError(`store(): all values together would have ${total} characters, the limit is ` +
        `${limits.storeTotal}. Delete keys with store(key, undefined) or keep large data in a file.`);
    }
    storedCharacters = total;
    storeWrites.delete(key);
    storeWrites.set(key, json);
    if (json === undefined) stored.delete(key);
    else stored.set(key, json);
  }

  function load(key) {
    checkKey(key, "load()");
    const json = stored.get(key);
    return json === undefined ? undefined : native.parse(json);
  }

  /** Hands the writes to the host as a list of [key, json | null]. */
  function flushStore() {
    if (storeWrites.size > 0) native.output(STORE, stringify([...storeWrites].map(([key, json]) => [key, json ?? null])));
  }

  // ------------------------------------------------------------------------------------------ timers, control

  function setTimeout(callback, delay, ...values) {
    if (typeof callback !== "function") throw new TypeError("setTimeout expects a function callback");
    let delayMs = Number(delay);
    if (!(delayMs >= 0 && delayMs <= DELAY_MS_MAX)) delayMs = 0;
    if (timers.size >= TIMERS_MAX || nextTimer > DELAY_MS_MAX) {
      throw new RangeError(`setTimeout: a script may have ${TIMERS_MAX} timers at once`);
    }
    return addTimer(() => callback(...values), Math.ceil(delayMs), false);
  }

  function addTimer(run, delayMs, isSleep) {
    const id = nextTimer++;
    timers.set(id, { run, delayMs, isSleep, site: native.site() });
    sleeps += isSleep;
    native.timer(CALL_TIMER_SET, id, delayMs);
    return id;
  }

  function clearTimeout(id) {
    if (typeof id === "bigint" || typeof id === "symbol") throw new TypeError("clearTimeout expects a numeric timeout id");
    // A sleep has no number that a script could know; one that it guesses is left alone.
    if (timers.get(id)?.isSleep) return;
    if (timers.delete(id)) native.timer(CALL_TIMER_CLEAR, id, 0);
  }

  function fireTimer(id) {
    const timer = timers.get(id);
    if (timer === undefined) return;
    timers.delete(id);
    sleeps -= timer.isSleep;
    try {
      timer.run();
    } catch (error) {
      fail(error);
    }
  }

  function sleep(ms, value) {
    const delayMs = Number(ms);
    if (!(delayMs >= 0)) return Promise.reject(new TypeError(`sleep(ms) takes a number of milliseconds, not ${String(ms)}`));
    const left = native.timeLeft();
    if (delayMs >= left || delayMs > DELAY_MS_MAX) {
      return Promise.reject(new RangeError(`sleep(${delayMs}) would end after the script's time is up: ${left} ms are left`));
    }
    if (timers.size >= TIMERS_MAX || nextTimer > DELAY_MS_MAX) {
      return Promise.reject(new RangeError(`sleep: a script may have ${TIMERS_MAX} timers at once`));
    }
    return new Promise((resolve) => addTimer(() => resolve(value), Math.ceil(delayMs), true));
  }

  /** Calls f(item, index) for all items, `limit` at a time; the results, in order. The first error ends it. */
  async function parallel(items, limit, f) {
    const work = typeof limit === "function" && f === undefined ? limit : f;
    const width = work === limit ? PARALLEL_DEFAULT : Number(limit);
    if (typeof work !== "function" || !(width >= 1)) throw new TypeError("parallel(items, limit, f) takes a list, a number of at least 1, and a function");
    const list = [...items];
    const results = new Array(list.length);
    let next = 0;
    let hasFailed = false;
    const worker = async () => {
      while (next < list.length && !hasFailed) {
        const at = next;
        next += 1;
        try {
          results[at] = await work(list[at], at);
        } catch (error) {
          hasFailed = true;
          throw error;
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(width, list.length) }, worker));
    return results;
  }

  function exit() {
    if (rejections.size > 0) {
      sayRejection(undefined);
      native.stop();
    }
    flushStore();
    native.output(EXIT, "");
    native.stop();
  }

  function notify(value) {
    const shown = toText(value, "notify()");
    if (shown.trim() === "") throw new TypeError("notify() needs text that is not blank");
    emit(NOTIFY, shown, shown.length);
  }

  function yield_control() {
    native.output(YIELD, "");
  }

  // ------------------------------------------------------------------------------------------ a script

  const define = (target, name, value, enumerable = false) =>
    Object.defineProperty(target, name, { value, writable: false, configurable: false, enumerable });

  /** What the objects of a tool's result inherit from: [result, element]. Members that none of them has are errors. */
  function shapeOf(tool, { result, element }) {
    const guard = (members, what, prototype) => {
      if (members == null) return undefined;
      const table = native.guard(prototype);
      guards.set(table, { result: tool, what, names: members });
      return Object.freeze(table);
    };
    const list = element == null ? undefined : guard([], `a list of ${element.length > 0 ? "objects" : "texts"}`, Array.prototype);
    return [list ?? guard(result, "an object", Object.prototype), element?.length > 0 ? guard(element, "an object of the list", Object.prototype) : list && Object.prototype];
  }

  /** Functions of tools, by the tools' own names. A tool has two members where its name is no identifier. */
  const toolFunctions = new Map();

  function toolFunction(name, identifier, shape) {
    let call = toolFunctions.get(name);
    if (call === undefined) {
      call = Object.freeze(native.tool(name, shape && shapeOf(identifier ?? name, shape), shape !== undefined));
      toolFunctions.set(name, call);
    }
    return call;
  }

  /** Makes the member of `tools` that a script asks for, and says whether there is one. */
  function member(key) {
    const found = native.ask(TOOL_FIND, key);
    if (found === undefined) return false;
    const [name, identifier, shape] = native.parse(found);
    native.member(global.tools, key, toolFunction(name, identifier, shape), key === identifier);
    return true;
  }

  /** A table with all members of `tools`, in their order. */
  function members() {
    const table = native.guard(null);
    for (const [key, name, identifier, shape] of native.parse(native.ask(TOOL_MEMBERS, ""))) {
      native.member(table, key, toolFunction(name, identifier, shape), key === identifier);
    }
    return table;
  }

  /** What `ALL_TOOLS` is. */
  function allTools() {
    const listed = native.parse(native.ask(TOOL_LIST, ""));
    for (const tool of listed) Object.freeze(tool);
    return Object.freeze(listed);
  }

  /** Members are made when they are asked for, since there may be thousands of which a script uses two. */
  function defineTools(down) {
    const table = native.guard(null);
    const names = () => global.ALL_TOOLS.map(({ name }) => name);
    const advice = "List tools with ALL_TOOLS, find them with searchTools(query) or test with `name in tools`.";
    define(global, "tools", guarded(table, "tools", names, advice, down));
    native.lazy(table);
  }

  function defineGlobals(globals) {
    const spaces = new Map();
    for (const [name, spread] of globals) {
      const call = callable(CALL_GLOBAL, name, spread);
      const [first, member] = name.split(".");
      if (member === undefined) {
        define(global, first, call);
        continue;
      }
      if (!spaces.has(first)) spaces.set(first, native.guard(null));
      define(spaces.get(first), member, call, true);
    }
    for (const [name, table] of spaces) {
      const names = Object.keys(table);
      define(global, name, guarded(table, name, () => names, `Test with \`name in ${name}\`.`));
    }
  }

  /** The value as JSON, and the end. */
  function succeed(value) {
    if (value === END) {
      native.pastEnd();
      native.output(LAST_STATEMENT, "");
      return;
    }
    conclude(value);
  }

  function conclude(value) {
    native.reserve();
    try {
      const json = written(value, "return", false);
      if (rejections.size > 0) {
        sayRejection(json);
        return native.finish();
      }
      flushStore();
      if (json !== undefined) native.output(VALUE, json);
      else native.output(EXIT, "");
    } catch (error) {
      return report(error);
    }
    native.finish();
  }

  /** The failure of a script that left rejections unhandled, with the value that it returned. */
  function sayRejection(json) {
    native.reserve();
    try {
      const [reason] = rejections.values();
      const failure = { ...shared.describe(reason), unhandled: rejections.size };
      native.output(ERROR, `${stringify(failure).slice(0, -1)}${json === undefined ? "" : `,"value":${json}`}}`);
    } catch {
      native.giveUp();
    }
  }

  /** Called when no call is open and no job is left, once the last statement was reached: ends the script, or lets it wait. */
  function drained() {
    if (sleeps > 0) return;
    if (native.active() > 0) {
      if (timers.size > 0) return;
      native.collect();
    }
    const waiting = native.active() > 0 ? native.unfinished() : [];
    if (native.lost() !== undefined) waiting.push(native.lost());
    if (waiting.length > 0) {
      const where = waiting.slice(0, PLACES_MAX).map((place) => `line ${place.split(":")[0]}`).join(", ");
      return report(new Error(`The script's last statement was reached, but an async function that it started waits at ${where} for a promise ` +
        "that nothing can settle: no call and no timer is pending. Let it end, or end the script with return."));
    }
    const pending = [...timers.values()].filter(({ isSleep }) => !isSleep);
    if (pending.length > 0) {
      const named = pending.slice(0, PLACES_MAX).map(({ delayMs, site }) => `${delayMs} ms${site === undefined ? "" : `, set at ${site}`}`);
      const more = pending.length > PLACES_MAX ? `; and ${pending.length - PLACES_MAX} more` : "";
      note(`The script ended before ${pending.length === 1 ? "a timer" : `${pending.length} timers`} fired (${named.join("; ")}${more}): timers do not ` +
        "keep a script alive. Wait with await sleep(ms).");
    }
    conclude(undefined);
  }

  function report(error) {
    sayError(error);
    native.finish();
  }

  /** Starts a script that was compiled to `main`, or reports why it could not be. */
  function start(settings, main, failure) {
    Object.assign(limits, settings.limits);
    defineTools(settings.down);
    defineGlobals(settings.globals);
    for (const [key, json] of settings.store) {
      stored.set(key, json);
      storedCharacters += key.length + json.length;
    }
    if (main === undefined) return report(failure);
    main(global.tools, console, END).then(succeed, report);
  }

  // ------------------------------------------------------------------------------------------ built-ins

  const { console } = shared.makeConsole(emit);
  for (const [name, value] of Object.entries({
    text, image, audio, exit, store, load, notify, yield_control, setTimeout, clearTimeout, sleep, parallel, console,
  })) {
    define(global, name, value);
  }
  delete global.SharedArrayBuffer;
  delete global.Atomics;
  delete global.print;
  // A hook of the engine that would run script code while an error is being made.
  delete Error.prepareStackTrace;
  lockDown(global);

  Object.assign(shared, { start, makeError, fireTimer, drained, member, members, allTools });

  /** Freezes every object reachable from the global object, and makes the global names read-only. */
  function lockDown(root) {
    const seen = new Set([root]);
    const queue = [];
    const reach = (value) => {
      if (isObject(value) && !seen.has(value)) {
        seen.add(value);
        queue.push(value);
      }
    };
    const reachMembers = (object) => {
      reach(Object.getPrototypeOf(object));
      for (const key of Reflect.ownKeys(object)) {
        const descriptor = Object.getOwnPropertyDescriptor(object, key);
        reach(descriptor.value);
        reach(descriptor.get);
        reach(descriptor.set);
      }
    };
    reachMembers(root);
    const intrinsics = [
      function* () {}, async function () {}, async function* () {}, [][Symbol.iterator](), new Map().entries(),
      new Set().entries(), ""[Symbol.iterator](), "".matchAll(/x/g), (function* () {})(), (async function* () {})(),
      [].values().map((item) => item), Iterator.from({ next() {} }), Object.getOwnPropertyDescriptor(function () {}, "caller"),
    ];
    for (const value of intrinsics) {
      if (value === undefined) continue;
      // The sample itself is not shared; what it inherits from is.
      for (let object = Object.getPrototypeOf(value); object !== null; object = Object.getPrototypeOf(object)) reach(object);
    }
    while (queue.length > 0) reachMembers(queue.pop());
    seen.delete(root);
    for (const object of seen) native.freeze(object);
    for (const key of Reflect.ownKeys(root)) {
      const descriptor = Object.getOwnPropertyDescriptor(root, key);
      if ("value" in descriptor) Object.defineProperty(root, key, { writable: false, configurable: false });
      else Object.defineProperty(root, key, { configurable: false });
    }
  }
})
