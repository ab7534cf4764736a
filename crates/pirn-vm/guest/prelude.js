// The script's side of the contract. Evaluated once, at build time; what it leaves behind is part of the memory image.
//
// Everything it uses is frozen before a script starts, so plain method calls are safe here. Values that come from a script may
// still be proxies and getters: they are only touched where the contract says that a value is read.
(function (native) {
  "use strict";

  const CALL_GLOBAL = 1, CALL_TIMER_SET = 2, CALL_TIMER_CLEAR = 3;
  const TEXT = 0, CONSOLE = 1, IMAGE = 2, AUDIO = 3, NOTIFY = 4, YIELD = 5, VALUE = 6, ERROR = 7, STORE = 8, EXIT = 9;
  /** Longest list of names that an error about an unknown tool spells out. */
  const NAMES_LISTED_MAX = 20;
  const CLOSE_NAMES_MAX = 5;
  /** setTimeout's range, as everywhere: a longer delay becomes the shortest one. */
  const DELAY_MS_MAX = 2147483647;
  /** Timers that may be pending at once; each costs the host an entry. */
  const TIMERS_MAX = 100000;

  const { stringify, parse } = JSON;
  const global = globalThis;
  const limits = { characters: 16777216, items: 100000, storeValue: 262144, storeTotal: 1048576 };
  let characters = 0;
  let items = 0;
  let stored = new Map();
  let storedCharacters = 0;
  const written = new Map();
  const timers = new Map();
  let nextTimer = 1;

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

  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";

  function toText(value, what) {
    if (typeof value === "string") return value;
    if (!isObject(value)) return String(value);
    let json;
    try {
      json = stringify(value);
    } catch (error) {
      if (error instanceof TypeError) throw new TypeError(`${what}: ${error.message}`);
      throw error;
    }
    return json === undefined ? String(value) : json;
  }

  function text(value) {
    const shown = toText(value, "text()");
    emit(TEXT, shown, shown.length);
  }

  function consoleText(value) {
    if (typeof value === "string") return value;
    if (!isObject(value)) return String(value);
    if (Error.isError(value)) return describe(value).stack;
    try {
      const json = stringify(value);
      if (json !== undefined) return json;
    } catch {
      // Shown as a string below, since a log line must not fail a script.
    }
    try {
      return String(value);
    } catch {
      return Object.prototype.toString.call(value);
    }
  }

  function log(...values) {
    const shown = values.map(consoleText).join(" ");
    emit(CONSOLE, shown, shown.length);
  }

  const console = {
    log(...values) { log(...values); },
    info(...values) { log(...values); },
    warn(...values) { log(...values); },
    error(...values) { log(...values); },
    debug(...values) { log(...values); },
  };

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

  // More than that is a pattern, which the first ones show.
  const ERRORS_TOLD_MAX = 16;
  const PRELUDE_FRAME = /^\s*at .*\(?pirn:prelude|^\s*at [^(]*\((native|missing)\)\s*$/;

  /** The lines of an error: what it is, where it was, and the errors behind it that were not told yet. */
  function tell(error, told) {
    const name = String(error.name), message = String(error.message);
    const head = message === "" ? name : `${name}: ${message}`;
    if (told.includes(error) || told.length === ERRORS_TOLD_MAX) return [head];
    told.push(error);
    const raw = error.stack;
    const lines = [head];
    if (typeof raw === "string") {
      lines.push(...raw.split("\n").filter((line) => line.trim() !== "" && !PRELUDE_FRAME.test(line)));
    }
    const behind = (label, reason) => {
      const [first, ...rest] = Error.isError(reason) ? tell(reason, told) : [describe(reason).message];
      lines.push(`${label}: ${first}`, ...rest);
    };
    if (Object.hasOwn(error, "cause")) behind("Caused by", error.cause);
    if (Array.isArray(error.errors)) {
      const { length } = error.errors;
      for (let at = 0; at < length && told.length < ERRORS_TOLD_MAX; at += 1) {
        behind(`Error ${at + 1} of ${length}`, error.errors[at]);
      }
    }
    return lines;
  }

  /** An error value as data. Reading it may run script code, which may throw again. */
  function describe(reason) {
    try {
      if (!Error.isError(reason)) {
        if (typeof reason === "string") return { message: reason };
        let json;
        if (typeof reason === "object" && reason !== null) json = stringify(reason);
        return { message: json === undefined ? String(reason) : json };
      }
      const name = String(reason.name), message = String(reason.message);
      return { name, message, stack: tell(reason, []).join("\n") };
    } catch {
      return { message: "The script threw a value that cannot be described" };
    }
  }

  /** The error a failed call rejects with. `site` is where the call was made. */
  function makeError({ message, tool, callId, kind }, site) {
    const error = new Error(message);
    const extra = { tool, callId, kind };
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
        json = stringify(spread ? values : values[0]);
      } catch (error) {
        return Promise.reject(error);
      }
      return native.call(kind, name, json);
    };
    return Object.freeze(call);
  }

  const squash = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

  function closeNames(wanted, names) {
    const key = squash(wanted);
    if (key === "") return [];
    const equal = names.filter((name) => squash(name) === key);
    if (equal.length > 0) return equal.slice(0, CLOSE_NAMES_MAX);
    return names
      .filter((name) => {
        const other = squash(name);
        return other !== "" && (other.includes(key) || key.includes(other));
      })
      .slice(0, CLOSE_NAMES_MAX);
  }

  /** What tables say about members they do not have. */
  const guards = new Map();

  /** Freezes a table of `native.guard()`: reading an unknown member of it is an error with advice instead of undefined. */
  function guarded(table, label, names, advice) {
    guards.set(table, { label, names, advice });
    return Object.freeze(table);
  }

  function missing(table, key) {
    if (key === "then" || key === "toJSON" || key in Object.prototype || !guards.has(table)) return undefined;
    const { label, names, advice } = guards.get(table);
    const close = closeNames(key, names);
    const shown = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? `${label}.${name}` : `${label}[${stringify(name)}]`);
    let hint = "";
    if (close.length > 0) hint = ` Did you mean ${close.map(shown).join(", ")}?`;
    else if (names.length === 0) hint = ` There are no members of ${label}.`;
    else if (names.length <= NAMES_LISTED_MAX) hint = ` Available: ${names.map(shown).join(", ")}.`;
    throw new TypeError(`${label}.${key} does not exist.${hint} ${advice}`);
  }

  // ------------------------------------------------------------------------------------------ store

  function checkKey(key, what) {
    if (typeof key !== "string") throw new TypeError(`${what} needs a string as key`);
  }

  function store(key, value) {
    checkKey(key, "store()");
    let json;
    if (value !== undefined) {
      try {
        json = stringify(value);
      } catch (error) {
        if (error instanceof TypeError) throw new TypeError(`store(): ${error.message}`);
        throw error;
      }
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
    written.delete(key);
    written.set(key, json);
    if (json === undefined) stored.delete(key);
    else stored.set(key, json);
  }

  function load(key) {
    checkKey(key, "load()");
    const json = stored.get(key);
    return json === undefined ? undefined : parse(json);
  }

  /** Hands the writes to the host as a list of [key, json | null]. */
  function flushStore() {
    if (written.size > 0) native.output(STORE, stringify([...written].map(([key, json]) => [key, json ?? null])));
  }

  // ------------------------------------------------------------------------------------------ timers, control

  function setTimeout(callback, delay, ...values) {
    if (typeof callback !== "function") throw new TypeError("setTimeout expects a function callback");
    let delayMs = Number(delay);
    if (!(delayMs >= 0 && delayMs <= DELAY_MS_MAX)) delayMs = 0;
    if (timers.size >= TIMERS_MAX || nextTimer > DELAY_MS_MAX) {
      throw new RangeError(`setTimeout: a script may have ${TIMERS_MAX} timers at once`);
    }
    const id = nextTimer++;
    timers.set(id, () => callback(...values));
    native.timer(CALL_TIMER_SET, id, Math.ceil(delayMs));
    return id;
  }

  function clearTimeout(id) {
    if (typeof id === "bigint" || typeof id === "symbol") throw new TypeError("clearTimeout expects a numeric timeout id");
    if (timers.delete(id)) native.timer(CALL_TIMER_CLEAR, id, 0);
  }

  function fireTimer(id) {
    const run = timers.get(id);
    if (run === undefined) return;
    timers.delete(id);
    try {
      run();
    } catch (error) {
      fail(error);
    }
  }

  function exit() {
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

  function defineTools(tools) {
    const table = native.guard();
    const listed = [];
    for (const [name, identifier, description] of tools) {
      const call = Object.freeze(native.tool(name));
      // A tool whose identifier another tool has is reachable by its raw name alone.
      if (identifier !== null) {
        define(table, identifier, call, true);
        listed.push(Object.freeze({ name: identifier, description }));
      }
      if (name !== identifier && !Object.hasOwn(table, name)) define(table, name, call);
    }
    const advice = "List tools with ALL_TOOLS, find them with searchTools(query) or test with `name in tools`.";
    const names = listed.map(({ name }) => name);
    define(global, "tools", guarded(table, "tools", names, advice));
    define(global, "ALL_TOOLS", Object.freeze(listed));
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
      if (!spaces.has(first)) spaces.set(first, native.guard());
      define(spaces.get(first), member, call, true);
    }
    for (const [name, table] of spaces) {
      const names = Object.keys(table);
      define(global, name, guarded(table, name, names, `Test with \`name in ${name}\`.`));
    }
  }

  /** As `text` shows it: a number where the host's integers hold it, else its digits. */
  function wholeNumber(value) {
    const fits = BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value;
    return fits ? String(value) : stringify(String(value));
  }

  function succeed(value) {
    native.reserve();
    try {
      const json = typeof value === "bigint" ? wholeNumber(value) : stringify(value);
      flushStore();
      if (json !== undefined) native.output(VALUE, json);
      else native.output(EXIT, "");
    } catch (error) {
      return report(error);
    }
    native.finish();
  }

  function report(error) {
    sayError(error);
    native.finish();
  }

  /** Starts a script that was compiled to `main`, or reports why it could not be. */
  function start(settings, main, failure) {
    Object.assign(limits, settings.limits);
    defineTools(settings.tools);
    defineGlobals(settings.globals);
    for (const [key, json] of settings.store) {
      stored.set(key, json);
      storedCharacters += key.length + json.length;
    }
    if (main === undefined) return report(failure);
    main(global.tools, console).then(succeed, report);
  }

  // ------------------------------------------------------------------------------------------ built-ins

  extend(global);

  for (const [name, value] of Object.entries({
    text, image, audio, exit, store, load, notify, yield_control, setTimeout, clearTimeout, console,
  })) {
    define(global, name, value);
  }
  delete global.SharedArrayBuffer;
  delete global.Atomics;
  delete global.print;
  // A hook of the engine that would run script code while an error is being made.
  delete Error.prepareStackTrace;
  lockDown(global);

  return { start, makeError, fireTimer, missing };

  /** Adds what scripts expect and the engine lacks. */
  function extend(target) {
    const add = (name, value) =>
      Object.defineProperty(target, name, { value, writable: true, configurable: true, enumerable: false });

    add("structuredClone", function structuredClone(value) {
      const seen = new Map();
      const refuse = (what) => { throw new DOMException(`${what} could not be cloned`, "DataCloneError"); };
      const clone = (from) => {
        if (!isObject(from)) return typeof from === "symbol" ? refuse(String(from)) : from;
        if (seen.has(from)) return seen.get(from);
        if (typeof from === "function") refuse("A function");
        if (from instanceof Date) return new Date(from.getTime());
        if (from instanceof RegExp) return new RegExp(from.source, from.flags);
        if (ArrayBuffer.isView(from)) {
          const bytes = clone(from.buffer);
          return from instanceof DataView ? new DataView(bytes, from.byteOffset, from.byteLength)
            : new from.constructor(bytes, from.byteOffset, from.length);
        }
        if (from instanceof ArrayBuffer) {
          const copy = from.slice(0);
          seen.set(from, copy);
          return copy;
        }
        if (from instanceof Map) {
          const copy = new Map();
          seen.set(from, copy);
          for (const [key, item] of from) copy.set(clone(key), clone(item));
          return copy;
        }
        if (from instanceof Set) {
          const copy = new Set();
          seen.set(from, copy);
          for (const item of from) copy.add(clone(item));
          return copy;
        }
        if (Error.isError(from)) {
          const constructors = { EvalError, RangeError, ReferenceError, SyntaxError, TypeError, URIError };
          const copy = new (constructors[from.name] ?? Error)(from.message);
          seen.set(from, copy);
          return copy;
        }
        if (from instanceof Promise || from instanceof WeakMap || from instanceof WeakSet) refuse("The object");
        const copy = Array.isArray(from) ? new Array(from.length) : {};
        seen.set(from, copy);
        for (const key of Object.keys(from)) {
          Object.defineProperty(copy, key, { value: clone(from[key]), writable: true, configurable: true, enumerable: true });
        }
        return copy;
      };
      return clone(value);
    });

    add("TextEncoder", class TextEncoder {
      get encoding() { return "utf-8"; }
      encode(input = "") {
        const source = String(input).toWellFormed();
        const bytes = new Uint8Array(source.length * 3);
        let length = 0;
        for (const character of source) {
          const code = character.codePointAt(0);
          if (code < 0x80) bytes[length++] = code;
          else {
            if (code < 0x800) bytes[length++] = 0xc0 | (code >> 6);
            else {
              if (code < 0x10000) bytes[length++] = 0xe0 | (code >> 12);
              else {
                bytes[length++] = 0xf0 | (code >> 18);
                bytes[length++] = 0x80 | ((code >> 12) & 63);
              }
              bytes[length++] = 0x80 | ((code >> 6) & 63);
            }
            bytes[length++] = 0x80 | (code & 63);
          }
        }
        return bytes.slice(0, length);
      }
    });

    add("TextDecoder", class TextDecoder {
      #fatal;
      #ignoreBOM;
      constructor(label = "utf-8", { fatal = false, ignoreBOM = false } = {}) {
        if (!/^\s*(utf-?8|unicode-1-1-utf-8)\s*$/i.test(label)) throw new RangeError(`TextDecoder reads utf-8 only, not ${label}`);
        this.#fatal = Boolean(fatal);
        this.#ignoreBOM = Boolean(ignoreBOM);
      }
      get encoding() { return "utf-8"; }
      get fatal() { return this.#fatal; }
      get ignoreBOM() { return this.#ignoreBOM; }
      decode(input = new Uint8Array()) {
        const bytes = input instanceof ArrayBuffer ? new Uint8Array(input)
          : new Uint8Array(input.buffer, input.byteOffset, input.byteLength);
        const parts = [];
        const bad = () => {
          if (this.#fatal) throw new TypeError("The encoded data was not valid utf-8");
          parts.push("\ufffd");
        };
        let at = !this.#ignoreBOM && bytes[0] === 0xef && bytes[1] === 0xbb && bytes[2] === 0xbf ? 3 : 0;
        while (at < bytes.length) {
          const first = bytes[at++];
          if (first < 0x80) {
            parts.push(String.fromCharCode(first));
            continue;
          }
          const need = first >= 0xc2 && first <= 0xdf ? 1 : first >= 0xe0 && first <= 0xef ? 2 : first >= 0xf0 && first <= 0xf4 ? 3 : 0;
          if (need === 0) {
            bad();
            continue;
          }
          let code = first & (0x3f >> need);
          let taken = 0;
          while (taken < need && at < bytes.length) {
            const low = taken === 0 && first === 0xe0 ? 0xa0 : taken === 0 && first === 0xf0 ? 0x90 : 0x80;
            const high = taken === 0 && first === 0xed ? 0x9f : taken === 0 && first === 0xf4 ? 0x8f : 0xbf;
            if (bytes[at] < low || bytes[at] > high) break;
            code = (code << 6) | (bytes[at++] & 63);
            taken += 1;
          }
          if (taken === need) parts.push(String.fromCodePoint(code));
          else bad();
        }
        return parts.join("");
      }
    });

    // Without Intl the engine prints numbers ungrouped; people expect 1,234,567.89.
    const grouped = function toLocaleString() {
      const number = Number(this);
      if (!Number.isFinite(number) || Math.abs(number) >= 1e21) return String(number);
      const [whole, fraction] = String(Math.round(Math.abs(number) * 1000) / 1000).split(".");
      const sign = number < 0 ? "-" : "";
      return sign + whole.replace(/\B(?=(\d{3})+$)/g, ",") + (fraction === undefined ? "" : `.${fraction}`);
    };
    Object.defineProperty(Number.prototype, "toLocaleString", { value: grouped, writable: true, configurable: true, enumerable: false });
  }

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
