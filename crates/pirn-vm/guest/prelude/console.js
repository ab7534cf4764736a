// console: lines of output, with what people know from other consoles.
(function (native, shared) {
  "use strict";

  const CONSOLE = 1;
  const INDENT = "  ";
  const { written, describe, isObject } = shared;

  function shown(value) {
    if (typeof value === "string") return value;
    if (!isObject(value)) return Object.is(value, -0) ? "0" : String(value);
    if (Error.isError(value)) return describe(value).stack ?? describe(value).message;
    if (typeof value === "function") return `[Function${value.name ? `: ${value.name}` : ""}]`;
    if (value instanceof Promise) return "[Promise: await it to see its value]";
    try {
      const json = written(value, "console", false);
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

  /** Fills in %s %d %i %f %j %o %O %c; what is left over follows. */
  function formatted(values) {
    const [first, ...rest] = values;
    if (typeof first !== "string" || rest.length === 0 || !first.includes("%")) return values.map(shown).join(" ");
    const line = first.replace(/%[sdifjoOc%]/g, (directive) => {
      if (directive === "%%") return "%";
      if (rest.length === 0) return directive;
      const value = rest.shift();
      switch (directive) {
        case "%s": return shown(value);
        case "%d": return typeof value === "bigint" ? String(value) : isObject(value) ? "NaN" : String(Number(value));
        case "%i": return typeof value === "bigint" ? String(value) : String(parseInt(value, 10));
        case "%f": return String(parseFloat(value));
        case "%c": return "";
        default: return typeof value === "string" ? JSON.stringify(value) : shown(value);
      }
    });
    return [line, ...rest.map(shown)].join(" ");
  }

  /** Rows and columns as text: one line a row, columns of equal width. */
  function table(data, columns) {
    if (!isObject(data)) return shown(data);
    const entries = data instanceof Map ? [...data] : data instanceof Set ? [...data].map((item, at) => [at, item]) : Object.entries(data);
    const names = [];
    let hasValues = false;
    for (const [, row] of entries) {
      if (!isObject(row)) hasValues = true;
      else for (const name of Object.keys(row)) if (!names.includes(name)) names.push(name);
    }
    const wanted = Array.isArray(columns) ? columns.map(String) : names;
    const head = ["(index)", ...wanted, ...(hasValues ? ["Values"] : [])];
    const rows = entries.map(([index, row]) => [String(index),
      ...wanted.map((name) => (isObject(row) && Object.hasOwn(row, name) ? shown(row[name]) : "")),
      ...(hasValues ? [isObject(row) ? "" : shown(row)] : [])]);
    const widths = head.map((name, at) => Math.max(name.length, ...rows.map((row) => row[at].length)));
    const line = (cells) => cells.map((cell, at) => cell.padEnd(widths[at])).join(" | ").trimEnd();
    return [line(head), widths.map((width) => "-".repeat(width)).join("-|-"), ...rows.map(line)].join("\n");
  }

  /** The console of a script whose output goes to `emit`. */
  function makeConsole(emit) {
    let depth = 0;
    const counts = new Map();
    const starts = new Map();
    const put = (text) => {
      const line = depth === 0 ? text : text.split("\n").map((part) => INDENT.repeat(depth) + part).join("\n");
      emit(CONSOLE, line, line.length);
    };
    const log = (...values) => put(formatted(values));
    const elapsed = (label) => `${label}: ${Date.now() - starts.get(label)} ms`;
    const console = {
      log(...values) { log(...values); },
      info(...values) { log(...values); },
      warn(...values) { log(...values); },
      error(...values) { log(...values); },
      debug(...values) { log(...values); },
    };
    const others = {
      dir(value) { log(value); },
      table(data, columns) { put(table(data, columns)); },
      group(...values) { if (values.length > 0) log(...values); depth += 1; },
      groupCollapsed(...values) { if (values.length > 0) log(...values); depth += 1; },
      groupEnd() { depth = Math.max(0, depth - 1); },
      assert(condition, ...values) {
        if (!condition) put(values.length === 0 ? "Assertion failed" : `Assertion failed: ${formatted(values)}`);
      },
      count(label = "default") {
        counts.set(`${label}`, (counts.get(`${label}`) ?? 0) + 1);
        put(`${label}: ${counts.get(`${label}`)}`);
      },
      countReset(label = "default") { counts.delete(`${label}`); },
      time(label = "default") { starts.set(`${label}`, Date.now()); },
      timeLog(label = "default", ...values) { put([starts.has(`${label}`) ? elapsed(`${label}`) : `${label}: no such timer`, ...values.map(shown)].join(" ")); },
      timeEnd(label = "default") {
        put(starts.has(`${label}`) ? elapsed(`${label}`) : `${label}: no such timer`);
        starts.delete(`${label}`);
      },
      trace(...values) {
        const where = describe(new Error()).stack.split("\n").slice(1);
        put([values.length === 0 ? "Trace" : `Trace: ${formatted(values)}`, ...where].join("\n"));
      },
    };
    for (const [name, value] of Object.entries(others)) Object.defineProperty(console, name, { value });
    return { console };
  }

  Object.assign(shared, { makeConsole });
})
