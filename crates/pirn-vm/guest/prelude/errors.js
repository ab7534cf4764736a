// Errors as data and as lines, close names, and tables that say what they do not have.
(function (native, shared) {
  "use strict";

  const { stringify } = JSON;
  /** Longest list of names that an error about an unknown member spells out. */
  const NAMES_LISTED_MAX = 20;
  const CLOSE_NAMES_MAX = 5;
  /** More than that is a pattern, which the first ones show. */
  const ERRORS_TOLD_MAX = 16;
  const PRELUDE_FRAME = /^\s*at .*\(?pirn:prelude|^\s*at [^(]*\((native|missing)\)\s*$/;

  const frames = (stack) => (typeof stack === "string"
    ? stack.split("\n").filter((line) => line.trim() !== "" && !PRELUDE_FRAME.test(line)) : []);

  /** The lines of an error: what it is, where it was, and the errors behind it that were not told yet. */
  function tell(error, told) {
    const name = String(error.name), message = String(error.message);
    const head = message === "" ? name : `${name}: ${message}`;
    if (told.includes(error) || told.length === ERRORS_TOLD_MAX) return [head];
    told.push(error);
    const lines = [head, ...frames(error.stack)];
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
        if (typeof reason === "object" && reason !== null) json = shared.written(reason, "throw", false);
        return { message: json === undefined ? String(reason) : json };
      }
      const name = String(reason.name), message = String(reason.message);
      return { name, message, stack: tell(reason, []).join("\n") };
    } catch {
      return { message: "The script threw a value that cannot be described" };
    }
  }

  /** Name, message and the script's own frames. */
  const stackOf = (error) => [`${error.name}: ${error.message}`, ...frames(error.stack)].join("\n");

  const squash = (name) => name.toLowerCase().replace(/[^a-z0-9]/g, "");

  /** Steps of typing between two names: letters added, left out, changed, or swapped with their neighbours. */
  function distance(a, b, most) {
    if (Math.abs(a.length - b.length) > most) return most + 1;
    let before = [], row = Array.from({ length: b.length + 1 }, (_, at) => at);
    for (let i = 1; i <= a.length; i += 1) {
      const next = [i];
      let least = i;
      for (let j = 1; j <= b.length; j += 1) {
        let cost = Math.min(row[j] + 1, next[j - 1] + 1, row[j - 1] + (a[i - 1] === b[j - 1] ? 0 : 1));
        if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1]) cost = Math.min(cost, before[j - 2] + 1);
        next.push(cost);
        least = Math.min(least, cost);
      }
      if (least > most) return most + 1;
      before = row;
      row = next;
    }
    return row[b.length];
  }

  /** Names that may have been meant, the closest first, however many there are. */
  function closeNames(wanted, names) {
    const key = squash(wanted);
    if (key === "") return [];
    const most = Math.max(1, Math.floor(key.length / 3));
    const ranked = [];
    for (const name of names) {
      const other = squash(name);
      if (other === "") continue;
      let rank;
      if (other === key) rank = 0;
      else if (other.endsWith(key) || key.endsWith(other)) rank = 1;
      else if (other.includes(key) || (key.includes(other) && other.length > 2)) rank = 2;
      else {
        const steps = distance(key, other, most);
        if (steps > most) continue;
        rank = 2 + steps;
      }
      ranked.push([rank, name]);
    }
    if (ranked.some(([rank]) => rank === 0)) return ranked.filter(([rank]) => rank === 0).slice(0, CLOSE_NAMES_MAX).map(([, name]) => name);
    // Of equals the first one listed comes first, since sorting is stable.
    return ranked.sort(([a], [b]) => a - b).slice(0, CLOSE_NAMES_MAX).map(([, name]) => name);
  }

  /** What tables say about members they do not have. */
  const guards = new Map();

  /** Freezes a table of `native.guard()`: reading an unknown member of it is an error with advice instead of undefined. `names` gives those it has. */
  function guarded(table, label, names, advice, down = []) {
    guards.set(table, { label, listNames: names, advice, down });
    return Object.freeze(table);
  }

  function missing(table, key) {
    if (key in Object.prototype || !guards.has(table)) return undefined;
    const { label, names: known, listNames, advice, result, what, down } = guards.get(table);
    if (result !== undefined) return missingInResult(key, result, what, known);
    if (label === "promise") {
      throw new TypeError(`A promise has no member ${key}: await it first, as in (await value).${key}`);
    }
    const unavailable = down.find(({ prefix }) => key.startsWith(prefix));
    if (unavailable !== undefined) {
      throw new TypeError(`${label}.${key} is not available: ${unavailable.why}`);
    }
    const names = listNames();
    const close = closeNames(key, names);
    const shown = (name) => (/^[A-Za-z_$][\w$]*$/.test(name) ? `${label}.${name}` : `${label}[${stringify(name)}]`);
    let hint = "";
    if (close.length > 0) hint = ` Did you mean ${close.map(shown).join(", ")}?`;
    else if (names.length === 0) hint = ` There are no members of ${label}.`;
    else if (names.length <= NAMES_LISTED_MAX) hint = ` Available: ${names.map(shown).join(", ")}.`;
    throw new TypeError(`${label}.${key} does not exist.${hint} ${advice}`);
  }

  /** Members that models know from elsewhere, and what has the same in a result here. */
  const ELSEWHERE = {
    stdout: ["output"], stderr: ["output"], code: ["exit_code"], exitCode: ["exit_code"], status: ["exit_code"], returncode: ["exit_code"],
    file: ["path"], filename: ["path", "name"], match: ["text"], content: ["text"], lineNumber: ["line"], line_number: ["line"],
    isDirectory: ["type"], isFile: ["type"], kind: ["type"], mtime: ["modified"], mtimeMs: ["modified"], path: ["name"],
  };

  function missingInResult(key, tool, what, names) {
    // One that is declared may be absent.
    if (names.includes(key)) return undefined;
    const known = (Object.hasOwn(ELSEWHERE, key) ? ELSEWHERE[key] : []).filter((name) => names.includes(name));
    const close = known.length > 0 ? known : closeNames(key, names);
    const meant = close.length > 0 ? ` Did you mean ${close.slice(0, 2).join(" or ")}?` : "";
    const has = names.length > 0 ? `; it has ${names.join(", ")}` : ": go over it, or use its elements by number";
    throw new TypeError(`The result of tools.${tool} has no member ${key}: it is ${what}${has}.${meant}`);
  }

  guards.set(native.promiseGuard, { label: "promise", names: [] });
  const isGuard = (table) => guards.has(table);
  Object.assign(shared, { describe, stackOf, closeNames, guards, guarded, missing, isGuard });

  // A promise in a text or a sum is always a missing await.
  Object.defineProperty(Promise.prototype, Symbol.toPrimitive, {
    value: function () { throw new TypeError("A promise was used as a value: await it first"); },
    configurable: true, writable: true, enumerable: false,
  });
})
