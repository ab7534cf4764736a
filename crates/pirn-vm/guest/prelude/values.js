// Written forms of values that JSON does not keep, and the notes that say what was converted.
(function (native, shared) {
  "use strict";

  const NOTE = 12;
  /** Notes of one script; a loop must not fill its result with them. */
  const NOTES_MAX = 32;
  /** Places that one note names. */
  const PLACES_MAX = 8;

  const { stringify } = JSON;
  const toString = Object.prototype.toString;
  const isObject = (value) => (typeof value === "object" && value !== null) || typeof value === "function";
  const TypedArray = Object.getPrototypeOf(Uint8Array);
  const bytesOf = Object.getOwnPropertyDescriptor(TypedArray.prototype, Symbol.toStringTag).get;
  const notes = new Set();

  /** Tells whoever reads the result something, once. */
  function note(text) {
    if (notes.has(text) || notes.size > NOTES_MAX) return;
    notes.add(text);
    native.output(NOTE, notes.size > NOTES_MAX ? "More was converted; further notes are left out." : text);
  }

  /** What a value is, where JSON has no form for it. */
  function kindOf(value) {
    if (value instanceof Promise) return "promise";
    if (value instanceof Map) return "Map";
    if (value instanceof Set) return "Set";
    if (value instanceof RegExp) return "RegExp";
    if (Error.isError(value)) return "error";
    if (value instanceof ArrayBuffer) return "ArrayBuffer";
    if (ArrayBuffer.isView(value)) return "bytes";
    if (value instanceof WeakMap || value instanceof WeakSet || value instanceof WeakRef) return "weak";
    return "object";
  }

  const member = (path, key) => (/^[A-Za-z_$][\w$]*$/.test(key) ? `${path}.${key}` : `${path}[${stringify(key)}]`);

  /**
   * A value as JSON, or undefined where it has none. What JSON does not keep is converted, and a note says so; `what` begins it.
   * `forData` is for values that a program reads: a circle or a promise in them is an error.
   */
  function written(value, what, forData) {
    if (native.plain(value)) return stringify(value);
    const told = [];
    let untold = 0;
    const tell = (path, text) => {
      if (told.length < PLACES_MAX) told.push(path === "$" ? text : `${path} is ${text}`);
      else untold += 1;
    };
    const refuse = (path, text) => { throw new TypeError(`${what}: ${path === "$" ? "the value" : path} is ${text}`); };
    const open = new Map();

    function put(target, key, value) {
      Object.defineProperty(target, key, { value, writable: true, configurable: true, enumerable: true });
    }

    function fields(target, source, path, keys) {
      for (const key of keys) {
        const value = walk(source[key], member(path, key), key, false);
        if (value !== undefined) put(target, key, value);
      }
      return target;
    }

    function list(values, path) {
      const copy = [];
      let at = 0;
      for (const value of values) {
        copy.push(walk(value, `${path}[${at}]`, String(at), true));
        at += 1;
      }
      return copy;
    }

    function object(value, path) {
      switch (kindOf(value)) {
        case "promise":
          if (forData || path === "$") refuse(path, "a promise: await it first");
          tell(path, "a promise that was not awaited, written as {}");
          return {};
        case "Map": {
          const entries = [...value];
          if (entries.every(([key]) => typeof key === "string")) {
            tell(path, "a Map, written as an object");
            const copy = {};
            for (const [key, item] of entries) put(copy, key, walk(item, member(path, key), key, true));
            return copy;
          }
          tell(path, "a Map, written as pairs");
          return list(entries, path);
        }
        case "Set":
          tell(path, "a Set, written as an array");
          return list(value, path);
        case "RegExp":
          tell(path, "a RegExp, written as a string");
          return String(value);
        case "error": {
          tell(path, "an error, written as its name, message and stack");
          const copy = { name: String(value.name), message: String(value.message), stack: shared.stackOf(value) };
          const own = Object.keys(value).filter((key) => !Object.hasOwn(copy, key));
          for (const key of ["tool", "callId", "kind", "data", "cause", "errors"]) {
            if (Object.hasOwn(value, key) && !own.includes(key)) own.push(key);
          }
          return fields(copy, value, path, own);
        }
        case "ArrayBuffer":
          tell(path, "an ArrayBuffer, written as an array of bytes");
          return [...new Uint8Array(value)];
        case "bytes": {
          const name = bytesOf.call(value);
          tell(path, `a ${name ?? "DataView"}, written as an array`);
          return name === undefined ? [...new Uint8Array(value.buffer, value.byteOffset, value.byteLength)] : list(value, path);
        }
        case "weak":
          tell(path, `a ${toString.call(value).slice(8, -1)}, which cannot be written`);
          return {};
        default: {
          const keys = Object.keys(value);
          const prototype = Object.getPrototypeOf(value);
          if (prototype !== null && prototype !== Object.prototype && !shared.isGuard(prototype)) {
            const tag = toString.call(value).slice(8, -1);
            const name = tag !== "Object" ? tag : String(prototype.constructor?.name || "class");
            if (keys.length === 0 && typeof value[Symbol.iterator] === "function") {
              tell(path, `a ${name}, written as {}: [...value] makes a list of it`);
            } else {
              tell(path, `an instance of ${name}, written as its fields`);
            }
          }
          for (const symbol of Object.getOwnPropertySymbols(value)) {
            if (Object.prototype.propertyIsEnumerable.call(value, symbol)) tell(`${path}[${String(symbol)}]`, "a symbol's member, left out");
          }
          return fields({}, value, path, keys);
        }
      }
    }

    function walk(from, path, key, isListed) {
      let value = from;
      if (isObject(value) || typeof value === "bigint") {
        const { toJSON } = Object(value);
        if (typeof toJSON === "function") {
          if (value instanceof Date && Number.isNaN(value.getTime())) tell(path, "an invalid Date, written as null");
          value = toJSON.call(value, key);
        }
      }
      switch (typeof value) {
        case "number":
          if (Number.isFinite(value)) return value;
          tell(path, `${value}, written as null`);
          return null;
        case "bigint": {
          if (BigInt.asIntN(64, value) === value || BigInt.asUintN(64, value) === value) return value;
          if (forData) refuse(path, "a BigInt beyond 64 bits, which no tool takes as a number");
          tell(path, "a BigInt beyond 64 bits, written as a string");
          return String(value);
        }
        case "undefined":
          if (!isListed) return undefined;
          tell(path, "undefined, written as null");
          return null;
        case "function":
        case "symbol":
          tell(path, `a ${typeof value}, ${isListed ? "written as null" : "left out"}`);
          return isListed ? null : undefined;
        case "object":
          break;
        default:
          return value;
      }
      if (value === null) return null;
      const boxed = toString.call(value);
      if (value instanceof String || value instanceof Number || value instanceof Boolean || value instanceof BigInt) {
        return boxed === "[object Symbol]" ? undefined : walk(value.valueOf(), path, key, isListed);
      }
      if (open.has(value)) {
        if (forData) refuse(path, `a circular reference to ${open.get(value)}`);
        tell(path, `a circular reference, written as "[Circular ${open.get(value)}]"`);
        return `[Circular ${open.get(value)}]`;
      }
      open.set(value, path);
      // Holes of an array are read as undefined.
      const copy = Array.isArray(value) ? list(Array.from(value), path) : object(value, path);
      open.delete(value);
      return copy;
    }

    const copy = walk(value, "$", "", false);
    const json = stringify(copy);
    if (told.length > 0) note(`${what}: ${told.join("; ")}${untold > 0 ? `; and ${untold} more` : ""}.`);
    return json;
  }

  /** The argument of a call as JSON. */
  const writtenArgument = (value, tool) => written(value, `The argument of ${tool}`, true);

  /** Tells that a result had integers which a number cannot hold. */
  function exactIntegers(first) {
    note(`Integers beyond 2^53 in results are BigInts, such as ${first}n: compare and calculate with BigInts, such as id === ${first}n.`);
  }

  Object.assign(shared, { note, written, writtenArgument, exactIntegers, isObject });
})
