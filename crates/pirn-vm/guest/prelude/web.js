// What scripts expect of every host: encodings, cancellation, randomness, digests.
(function (native, shared) {
  "use strict";

  const add = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const { isObject } = shared;

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
      return bytes.slice(0, this.encodeInto(source, bytes).written);
    }
    encodeInto(input, bytes) {
      const source = String(input).toWellFormed();
      let written = 0, read = 0;
      for (const character of source) {
        const code = character.codePointAt(0);
        const length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
        if (written + length > bytes.length) break;
        if (length === 1) bytes[written++] = code;
        else {
          bytes[written++] = (length === 2 ? 0xc0 : length === 3 ? 0xe0 : 0xf0) | (code >> (6 * (length - 1)));
          for (let shift = 6 * (length - 2); shift >= 0; shift -= 6) bytes[written++] = 0x80 | ((code >> shift) & 63);
        }
        read += character.length;
      }
      return { read, written };
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
    decode(input = new Uint8Array(), { stream = false } = {}) {
      if (stream) throw new RangeError("TextDecoder.decode has no {stream: true}: join the pieces and decode them at once");
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

  // ------------------------------------------------------------------------------------------ cancellation

  const aborts = new WeakMap();
  const abortError = () => new DOMException("This operation was aborted", "AbortError");
  let makesSignal = false;

  function abort(signal, reason) {
    const state = aborts.get(signal);
    if (state.aborted) return;
    state.aborted = true;
    state.reason = reason === undefined ? abortError() : reason;
    const event = { type: "abort", target: signal };
    for (const listener of [typeof signal.onabort === "function" ? signal.onabort : undefined, ...state.listeners]) {
      if (typeof listener === "function") listener.call(signal, event);
      else listener?.handleEvent?.(event);
    }
    state.listeners.clear();
  }

  function newSignal() {
    makesSignal = true;
    try {
      return new AbortSignal();
    } finally {
      makesSignal = false;
    }
  }

  class AbortSignal {
    onabort = null;
    constructor() {
      if (!makesSignal) throw new TypeError("AbortSignal cannot be constructed: use new AbortController().signal or AbortSignal.timeout(ms)");
      aborts.set(this, { aborted: false, reason: undefined, listeners: new Set() });
    }
    static abort(reason) {
      const signal = newSignal();
      abort(signal, reason);
      return signal;
    }
    static timeout(ms) {
      const signal = newSignal();
      setTimeout(() => abort(signal, new DOMException("The operation timed out", "TimeoutError")), ms);
      return signal;
    }
    static any(signals) {
      const any = newSignal();
      for (const signal of signals) {
        if (signal.aborted) abort(any, signal.reason);
        else signal.addEventListener("abort", () => abort(any, signal.reason));
      }
      return any;
    }
    get aborted() { return aborts.get(this).aborted; }
    get reason() { return aborts.get(this).reason; }
    throwIfAborted() {
      if (this.aborted) throw this.reason;
    }
    addEventListener(type, listener) {
      if (type === "abort") aborts.get(this).listeners.add(listener);
    }
    removeEventListener(type, listener) {
      aborts.get(this).listeners.delete(listener);
    }
  }

  add("AbortSignal", AbortSignal);
  add("AbortController", class AbortController {
    #signal = newSignal();
    get signal() { return this.#signal; }
    abort(reason) { abort(this.#signal, reason); }
  });

  /** With a signal alone: throws where it is none, or was used. With a call: its promise, which rejects when the signal is. */
  function heedSignal(signal, promise, id) {
    if (!aborts.has(signal)) throw new TypeError("{signal} must be an AbortSignal, such as new AbortController().signal");
    signal.throwIfAborted();
    if (promise === undefined) return undefined;
    return new Promise((resolve, reject) => {
      const onAbort = () => {
        native.cancel(id);
        reject(signal.reason);
      };
      signal.addEventListener("abort", onAbort);
      const settle = (how) => (value) => {
        signal.removeEventListener("abort", onAbort);
        how(value);
      };
      promise.then(settle(resolve), settle(reject));
    });
  }

  // ------------------------------------------------------------------------------------------ randomness, digests

  const RANDOM_BYTES_MAX = 65536;
  const DIGESTS = { "SHA-1": 1, "SHA-256": 256, "SHA-384": 384, "SHA-512": 512 };
  const INTEGER_ARRAYS = [Int8Array, Uint8Array, Uint8ClampedArray, Int16Array, Uint16Array, Int32Array, Uint32Array, BigInt64Array, BigUint64Array];

  function randomBytes(count) {
    const buffer = new ArrayBuffer(count);
    native.random(buffer);
    return new Uint8Array(buffer);
  }

  const crypto = {
    getRandomValues(array) {
      if (!INTEGER_ARRAYS.some((kind) => array instanceof kind)) throw new TypeError("crypto.getRandomValues fills a typed array of integers");
      if (array.byteLength > RANDOM_BYTES_MAX) {
        throw new RangeError(`crypto.getRandomValues gives at most ${RANDOM_BYTES_MAX} bytes at once, not ${array.byteLength}`);
      }
      new Uint8Array(array.buffer, array.byteOffset, array.byteLength).set(randomBytes(array.byteLength));
      return array;
    },
    randomUUID() {
      const bytes = randomBytes(16);
      bytes[6] = (bytes[6] & 0x0f) | 0x40;
      bytes[8] = (bytes[8] & 0x3f) | 0x80;
      const hex = bytes.toHex();
      return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join("-");
    },
    subtle: {
      async digest(algorithm, data) {
        const name = String(isObject(algorithm) ? algorithm.name : algorithm).toUpperCase();
        if (!Object.hasOwn(DIGESTS, name)) throw new RangeError(`crypto.subtle.digest has ${Object.keys(DIGESTS).join(", ")}; there is no ${name}`);
        if (!(data instanceof ArrayBuffer) && !ArrayBuffer.isView(data)) {
          throw new TypeError("crypto.subtle.digest takes bytes: encode a text with new TextEncoder().encode(text)");
        }
        const bytes = data instanceof ArrayBuffer ? data : data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength);
        return native.digest(DIGESTS[name], bytes);
      },
    },
  };
  add("crypto", crypto);

  // ------------------------------------------------------------------------------------------ clocks

  const exact = performance;
  // Whole milliseconds: a finer clock would let a script measure what else the machine does.
  add("performance", { now() { return Math.floor(exact.now()); }, timeOrigin: exact.timeOrigin });

  Object.assign(shared, { heedSignal });
})
