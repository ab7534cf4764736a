// The globals of programs, and what becomes of a program's end. Stands after the program, in the same function.

// What scripts call the ways in which a call fails.
const __failureKinds = {
  __proto__: null,
  CapabilityFailed: 'failed',
  CapabilityNotAdmitted: 'denied',
  CapabilityUnknown: 'not_found',
  InputInvalid: 'invalid_arguments',
};

function __named(message, name) {
  const error = new Error(message);
  error.name = name;
  if (__failureKinds[name] !== undefined) error.kind = __failureKinds[name];
  return error;
}

// Refuses what JSON would change. Does not recurse.
function __checkExact(root, what, kind) {
  const open = [[root, what, [null]]];
  const path = new Set();
  while (open.length > 0) {
    const [value, place, left] = open.pop();
    if (left === 'end') {
      path.delete(value);
      continue;
    }
    const refuse = (problem) => {
      throw __named(`${place.slice(0, 300)} is ${problem}, which JSON does not have`, kind);
    };
    switch (typeof value) {
      case 'string':
      case 'boolean':
        continue;
      case 'number':
        if (!Number.isFinite(value)) refuse(String(value));
        continue;
      case 'object':
        break;
      default:
        refuse(value === undefined ? 'undefined' : `a ${typeof value}`);
    }
    if (value === null) continue;
    const isList = Array.isArray(value);
    const prototype = Object.getPrototypeOf(value);
    if (!isList && prototype !== null && prototype !== Object.prototype) refuse(`a ${value.constructor?.name ?? 'special object'}`);
    if (path.has(value)) refuse('part of itself');
    if (path.size > 500) refuse('nested too deep');
    path.add(value);
    open.push([value, place, 'end']);
    for (const key of isList ? value.keys() : Object.keys(value)) {
      if (value[key] === undefined && !isList && kind === 'InputInvalid') continue;
      open.push([value[key], isList ? `${place}[${key}]` : `${place}.${key}`, null]);
    }
  }
}

function __makeTool(catalog) {
  const target = Object.create(null);
  const call = async (name, input) => {
    if (typeof name !== 'string') throw new TypeError('the first argument of tool.call must be the name of a tool');
    const given = input === undefined ? {} : input;
    __checkExact(given, 'input', 'InputInvalid');
    try {
      return await __call(name, given);
    } catch (error) {
      throw __named(error.message, error.kind ?? 'CapabilityFailed');
    }
  };
  const start = (name, input) => {
    const promise = call(name, input);
    const entry = { isSettled: false };
    entry.promise = promise.then(() => { entry.isSettled = true; }, (error) => { entry.isSettled = true; throw error; });
    // The program sees the first promise; this one is looked at only when the program is over.
    entry.promise.catch(() => {});
    __open.push(entry);
    return promise;
  };
  const parallel = async (calls, maxConcurrency = 4) => {
    if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1 || maxConcurrency > 32) {
      throw new RangeError('maxConcurrency must be a whole number from 1 to 32');
    }
    const list = [...calls];
    list.forEach((entry, at) => {
      if (typeof entry !== 'object' || entry === null || typeof entry.name !== 'string') {
        throw new TypeError(`call ${at} must be {name, input}; tool.parallel makes the calls itself`);
      }
    });
    const results = list.map(() => undefined);
    const failures = [];
    let following = 0;
    const work = async () => {
      while (following < list.length && failures.length === 0) {
        const at = following;
        following += 1;
        try {
          results[at] = await call(list[at].name, list[at].input);
        } catch (error) {
          failures.push({ at, error });
        }
      }
    };
    await Promise.all(Array.from({ length: Math.min(maxConcurrency, list.length) }, work));
    if (failures.length > 0) throw failures.sort((left, right) => left.at - right.at)[0].error;
    return results;
  };
  const listed = JSON.stringify(catalog);
  Object.assign(target, { call: start, list: () => JSON.parse(listed), parallel });
  for (const { name } of catalog) target[name] = (input) => start(name, input);
  Object.freeze(target);
  const reserved = ['then', 'catch', 'finally', 'constructor', 'prototype'];
  return new Proxy(target, {
    get: (object, key) => {
      if (typeof key !== 'string' || key in object) return object[key];
      return /^[a-z][a-z0-9_]{0,63}$/.test(key) && !reserved.includes(key) ? (input) => start(key, input) : undefined;
    },
  });
}

// Makes plain JSON of any value; what cannot be given back whole is noted.
function __convert(value, place, depth, lossy, path) {
  const note = (what) => {
    if (lossy.length < 40) lossy.push(`${place.slice(0, 300)}: ${what}`);
  };
  switch (typeof value) {
    case 'string':
    case 'boolean':
      return value;
    case 'number':
      if (Number.isFinite(value)) return value;
      note(`${value} became null`);
      return null;
    case 'undefined':
      if (depth > 1) note('undefined became null');
      return null;
    case 'object':
      break;
    default:
      note(`a ${typeof value} became text`);
      return String(value);
  }
  if (value === null) return null;
  if (path.has(value)) {
    note('a cycle became text');
    return '<cycle>';
  }
  if (depth > 12) {
    note('nested deeper than 12 became text');
    return '<nested deeper than 12>';
  }
  path.add(value);
  try {
    const list = (items) => {
      if (items.length > 2000) note(`${items.length - 2000} entries were left out`);
      return items.slice(0, 2000).map((item, at) => __convert(item, `${place}[${at}]`, depth + 1, lossy, path));
    };
    if (Array.isArray(value)) return list(value);
    if (value instanceof Date || value instanceof RegExp) {
      note(`a ${value.constructor.name} became text`);
      return value instanceof Date && !Number.isNaN(value.getTime()) ? value.toISOString() : String(value);
    }
    if (value instanceof Set || ArrayBuffer.isView(value)) {
      note(`a ${value.constructor.name} became an array`);
      return list(Array.from(value));
    }
    if (value instanceof Map) {
      note('a Map became an array of pairs');
      return list([...value]);
    }
    if (value instanceof Error) {
      note('an Error became a plain object');
      return { name: String(value.name), message: String(value.message) };
    }
    if (value instanceof Promise) {
      note('a Promise that was not awaited became text');
      return '<promise>';
    }
    const prototype = Object.getPrototypeOf(value);
    if (prototype !== null && prototype !== Object.prototype) note(`a ${value.constructor?.name ?? 'special object'} became a plain object`);
    const keys = Object.keys(value);
    if (keys.length > 2000) note(`${keys.length - 2000} entries were left out`);
    const made = {};
    for (const key of keys.slice(0, 2000)) {
      const converted = __convert(value[key], `${place}.${key}`, depth + 1, lossy, path);
      Object.defineProperty(made, key, { value: converted, enumerable: true, configurable: true, writable: true });
    }
    return made;
  } finally {
    path.delete(value);
  }
}

var __open;
__open = [];
globalThis.require = (name) => {
  throw __named(`cannot load ${String(name)}: modules need Node, which was not found; the setting eval.node names one`, 'ModuleUnavailable');
};
const __value = await __program();
// What the program did not wait for: its end is part of the program's.
for (let at = 0; at < __open.length; at += 1) {
  if (!__open[at].isSettled) await __open[at].promise;
}
if (typeof state !== 'object' || state === null || Array.isArray(state)) {
  throw __named('`state` must be a plain object', 'StateInvalid');
}
__checkExact(state, 'state', 'StateInvalid');
const __lossy = [];
return { value: __convert(__value, 'value', 1, __lossy, new Set()), lossy: __lossy, state };
