// URL and URLSearchParams. Addresses are taken apart by the host, whose parser is the standard's.
(function (native, shared) {
  "use strict";

  const add = (name, value) =>
    Object.defineProperty(globalThis, name, { value, writable: true, configurable: true, enumerable: false });
  const SEPARATOR = "\u0000";
  const text = (value) => String(value).toWellFormed().replaceAll(SEPARATOR, "%00");
  const PARTS = ["href", "origin", "protocol", "username", "password", "host", "hostname", "port", "pathname", "search", "hash"];

  /** The parts of an address after a change, or undefined where it is none. */
  function ask(...request) {
    const answer = native.url(request.map(text).join(SEPARATOR));
    if (answer === undefined) return undefined;
    const values = answer.split(SEPARATOR);
    return Object.fromEntries(PARTS.map((part, at) => [part, values[at]]));
  }

  function decode(part) {
    const bytes = [];
    const source = new TextEncoder().encode(part.replaceAll("+", " "));
    for (let at = 0; at < source.length; at += 1) {
      const code = source[at] === 37 ? parseInt(String.fromCharCode(source[at + 1], source[at + 2]), 16) : NaN;
      const isEscape = source[at] === 37 && /^[0-9A-Fa-f]{2}$/.test(String.fromCharCode(source[at + 1] ?? 0, source[at + 2] ?? 0));
      bytes.push(isEscape ? code : source[at]);
      if (isEscape) at += 2;
    }
    return new TextDecoder("utf-8", { ignoreBOM: true }).decode(new Uint8Array(bytes));
  }

  const encode = (part) => encodeURIComponent(part.toWellFormed())
    .replace(/[!'()~]/g, (character) => `%${character.charCodeAt(0).toString(16).toUpperCase()}`)
    .replaceAll("%20", "+");

  class URLSearchParams {
    #pairs = [];
    #changed;
    constructor(init = "", changed = undefined) {
      this.#changed = typeof changed === "function" ? changed : () => {};
      if (typeof init === "object" && init !== null) {
        const pairs = typeof init[Symbol.iterator] === "function" ? init : Object.entries(init);
        for (const pair of pairs) {
          const [name, value, ...rest] = pair;
          if (value === undefined || rest.length > 0) throw new TypeError("URLSearchParams takes pairs of name and value");
          this.#pairs.push([String(name), String(value)]);
        }
      } else {
        for (const pair of String(init).replace(/^\?/, "").split("&")) {
          if (pair === "") continue;
          const at = pair.indexOf("=");
          this.#pairs.push(at < 0 ? [decode(pair), ""] : [decode(pair.slice(0, at)), decode(pair.slice(at + 1))]);
        }
      }
    }
    get size() { return this.#pairs.length; }
    append(name, value) { this.#pairs.push([String(name), String(value)]); this.#changed(this); }
    delete(name, value) {
      this.#pairs = this.#pairs.filter(([key, item]) => key !== String(name) || (value !== undefined && item !== String(value)));
      this.#changed(this);
    }
    get(name) { return this.#pairs.find(([key]) => key === String(name))?.[1] ?? null; }
    getAll(name) { return this.#pairs.filter(([key]) => key === String(name)).map(([, value]) => value); }
    has(name, value) { return this.#pairs.some(([key, item]) => key === String(name) && (value === undefined || item === String(value))); }
    set(name, value) {
      const at = this.#pairs.findIndex(([key]) => key === String(name));
      this.#pairs = this.#pairs.filter(([key], index) => key !== String(name) || index === at);
      if (at < 0) this.#pairs.push([String(name), String(value)]);
      else this.#pairs[at] = [String(name), String(value)];
      this.#changed(this);
    }
    sort() {
      this.#pairs.sort(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
      this.#changed(this);
    }
    forEach(callback, self) { for (const [name, value] of this.#pairs) callback.call(self, value, name, this); }
    *entries() { for (const [name, value] of this.#pairs) yield [name, value]; }
    *keys() { for (const [name] of this.#pairs) yield name; }
    *values() { for (const [, value] of this.#pairs) yield value; }
    [Symbol.iterator]() { return this.entries(); }
    toString() { return this.#pairs.map(([name, value]) => `${encode(name)}=${encode(value)}`).join("&"); }
    toJSON() { return this.toString(); }
  }

  class URL {
    #parts;
    #params;
    constructor(address, base) {
      const parts = base === undefined ? ask("parse", address) : ask("parse", address, base);
      if (parts === undefined) {
        throw new TypeError(`Invalid URL: ${JSON.stringify(String(address))}${base === undefined ? "" : ` with the base ${JSON.stringify(String(base))}`}`);
      }
      this.#parts = parts;
    }
    static canParse(address, base) { return (base === undefined ? ask("parse", address) : ask("parse", address, base)) !== undefined; }
    static parse(address, base) { return URL.canParse(address, base) ? new URL(address, base) : null; }
    #change(part, value) {
      const parts = ask("set", this.#parts.href, part, value);
      if (parts !== undefined) this.#parts = parts;
      else if (part === "href") throw new TypeError(`Invalid URL: ${JSON.stringify(String(value))}`);
    }
    get origin() { return this.#parts.origin; }
    get href() { return this.#parts.href; }
    set href(value) { this.#change("href", value); this.#params = undefined; }
    get protocol() { return this.#parts.protocol; }
    set protocol(value) { this.#change("protocol", value); }
    get username() { return this.#parts.username; }
    set username(value) { this.#change("username", value); }
    get password() { return this.#parts.password; }
    set password(value) { this.#change("password", value); }
    get host() { return this.#parts.host; }
    set host(value) { this.#change("host", value); }
    get hostname() { return this.#parts.hostname; }
    set hostname(value) { this.#change("hostname", value); }
    get port() { return this.#parts.port; }
    set port(value) { this.#change("port", value); }
    get pathname() { return this.#parts.pathname; }
    set pathname(value) { this.#change("pathname", value); }
    get search() { return this.#parts.search; }
    set search(value) { this.#change("search", value); this.#params = undefined; }
    get hash() { return this.#parts.hash; }
    set hash(value) { this.#change("hash", value); }
    get searchParams() {
      this.#params ??= new URLSearchParams(this.#parts.search, (params) => this.#change("search", params.toString()));
      return this.#params;
    }
    toString() { return this.#parts.href; }
    toJSON() { return this.#parts.href; }
  }

  add("URLSearchParams", URLSearchParams);
  add("URL", URL);
})
