'use strict';
// The worker of JavaScript programs, part 1: values as JSON.
//
// The files of this folder are concatenated and run as one program, `node -e SOURCE once FD`, started in `/`. Programs run in
// a context of `node:vm` with globals of their own; this file and the last run outside of it, so that what a program does to
// `Array.prototype` or `JSON` cannot change how its values are read.

const fs = require('node:fs');
const { createRequire } = require('node:module');
const net = require('node:net');
const path = require('node:path');
const util = require('node:util');
const vm = require('node:vm');

// The most bytes of one frame, without its newline; both sides keep to it.
const FRAME_BYTES_MAX = 2_000_000;
const STATE_BYTES_MAX = 1_000_000;
const STATE_NODES_MAX = 100_000;
// Deeper values cannot be read back by every JSON reader on the way.
const JSON_DEPTH_MAX = 500;
// An input of more values cannot fit into a frame anyway: each takes two bytes at least.
const INPUT_NODES_MAX = 1_000_000;
// Room for the rest of the frame of a call.
const INPUT_BYTES_MAX = FRAME_BYTES_MAX - 1_000;

const RESULT_DEPTH_MAX = 12;
const RESULT_ENTRIES_MAX = 2_000;
const RESULT_NODES_MAX = 50_000;
// What all strings of a result may take together, so that it fits into a frame beside the largest state.
const RESULT_TEXT_BYTES_MAX = 800_000;
const LOSSES_MAX = 40;

const LONE_SURROGATE = /\p{Surrogate}/u;

/** Why a value was not sent or kept: `kind` is the name of the error. */
class Refusal extends Error {
  constructor(message, kind) {
    super(message);
    this.kind = kind;
  }
}

const INPUT_RULES = { root: 'input', kind: 'InputInvalid', tooLarge: 'InputInvalid', nodesMax: INPUT_NODES_MAX };
const STATE_RULES = { root: 'state', kind: 'StateInvalid', tooLarge: 'StateTooLarge', nodesMax: STATE_NODES_MAX };

/** The exact JSON text of an input. Properties that are undefined are absent, as everywhere in JavaScript. */
function inputText(value) {
  const text = jsonText(value, INPUT_RULES);
  const bytes = Buffer.byteLength(text);
  if (bytes > INPUT_BYTES_MAX) {
    throw new Refusal(`it has ${bytes} bytes as JSON and ${INPUT_BYTES_MAX} is the limit; write it to a file and pass the path`, 'InputInvalid');
  }
  return text;
}

/** The exact JSON text of the state. */
function stateText(value) {
  if (typeof value !== 'object' || value === null || !isPlainObject(value)) {
    throw new Refusal(`\`state\` must be a plain object, not ${describeKind(value)}`, 'StateInvalid');
  }
  const text = jsonText(value, STATE_RULES);
  const bytes = Buffer.byteLength(text);
  if (bytes > STATE_BYTES_MAX) {
    throw new Refusal(`\`state\` has ${bytes} bytes as JSON and ${STATE_BYTES_MAX} is the limit`, 'StateTooLarge');
  }
  return text;
}

/** Writes a value as JSON or refuses it. Does not recurse; values that are used twice are fine, cycles are not. */
function jsonText(root, rules) {
  const pieces = [];
  const stack = [];
  const onPath = new Set();
  let nodes = 0;

  const place = () => rules.root + stack.map((level) => keyText(level.keys === null ? level.at : level.keys[level.at])).join('').slice(0, 300);
  const refuse = (what) => {
    throw new Refusal(`${place()} is ${what}`, rules.kind);
  };

  const put = (value) => {
    nodes += 1;
    if (nodes > rules.nodesMax) {
      throw new Refusal(`${rules.root} has more than ${rules.nodesMax} values`, rules.tooLarge);
    }
    switch (typeof value) {
      case 'string':
        if (LONE_SURROGATE.test(value)) refuse('a string with a lone surrogate, which UTF-8 cannot hold');
        pieces.push(JSON.stringify(value));
        return;
      case 'number':
        if (!Number.isFinite(value)) refuse(`${value}, which JSON does not have`);
        pieces.push(JSON.stringify(value));
        return;
      case 'boolean':
        pieces.push(value ? 'true' : 'false');
        return;
      case 'bigint':
        // As it comes in: integers that a number cannot hold are bigints, all others numbers.
        if (rules === STATE_RULES && BigInt(Number(value)) === value) refuse('a bigint that a number can hold: pass Number(\u2026)');
        pieces.push(value.toString());
        return;
      case 'object':
        break;
      default:
        refuse(`${describeKind(value)}, which JSON does not have`);
    }
    if (value === null) {
      pieces.push('null');
      return;
    }
    if (!Array.isArray(value) && !isPlainObject(value)) refuse(`${describeKind(value)}, which JSON does not have${adviceFor(value)}`);
    if (onPath.has(value)) refuse('a cycle');
    if (stack.length >= JSON_DEPTH_MAX) {
      throw new Refusal(`${rules.root} is nested deeper than ${JSON_DEPTH_MAX}`, rules.kind);
    }
    if (Object.getOwnPropertySymbols(value).length > 0) refuse('an object with symbols as keys, which JSON does not have');
    const keys = Object.keys(value);
    if (Array.isArray(value)) {
      if (keys.length !== value.length) refuse('an array with holes or names, which JSON does not have');
      stack.push({ value, keys: null, at: -1, length: value.length, isFirst: true });
      pieces.push('[');
    } else {
      stack.push({ value, keys, at: -1, length: keys.length, isFirst: true });
      pieces.push('{');
    }
    onPath.add(value);
  };

  put(root);
  while (stack.length > 0) {
    const level = stack[stack.length - 1];
    level.at += 1;
    if (level.at >= level.length) {
      pieces.push(level.keys === null ? ']' : '}');
      onPath.delete(level.value);
      stack.pop();
      continue;
    }
    const key = level.keys === null ? level.at : level.keys[level.at];
    const value = level.value[key];
    if (value === undefined && level.keys !== null && rules === INPUT_RULES) continue;
    if (!level.isFirst) pieces.push(',');
    level.isFirst = false;
    if (level.keys !== null) {
      if (LONE_SURROGATE.test(key)) refuse('under a key with a lone surrogate, which UTF-8 cannot hold');
      pieces.push(JSON.stringify(key), ':');
    }
    put(value);
  }
  return pieces.join('');
}

function keyText(key) {
  if (typeof key === 'number') return `[${key}]`;
  return /^[A-Za-z_$][\w$]{0,59}$/.test(key) ? `.${key}` : `[${JSON.stringify(cutText(key, 60))}]`;
}

/** Also of another realm: the program's objects have its own `Object.prototype`. */
function isPlainObject(value) {
  if (util.types.isProxy(value)) return false;
  const prototype = Object.getPrototypeOf(value);
  if (prototype === null) return true;
  return Object.getPrototypeOf(prototype) === null && Object.prototype.hasOwnProperty.call(prototype, 'isPrototypeOf');
}

function describeKind(value) {
  if (value === null) return 'null';
  if (value === undefined) return 'undefined';
  if (typeof value !== 'object') return `a ${typeof value}`;
  if (util.types.isProxy(value)) return 'a Proxy';
  if (util.types.isPromise(value)) return 'a Promise that was not awaited';
  if (Array.isArray(value)) return 'an array';
  const name = className(value);
  return /^[AEIO]/.test(name) ? `an ${name}` : `a ${name}`;
}

function className(value) {
  try {
    const constructor = Object.getPrototypeOf(value)?.constructor;
    return typeof constructor === 'function' && typeof constructor.name === 'string' && constructor.name !== '' ? constructor.name.slice(0, 60) : 'object';
  } catch {
    return 'object';
  }
}

function adviceFor(value) {
  if (util.types.isDate(value)) return ': pass .toISOString()';
  if (util.types.isMap(value)) return ': pass Object.fromEntries(\u2026)';
  if (util.types.isSet(value)) return ': pass [...\u2026]';
  if (ArrayBuffer.isView(value)) return ': pass Array.from(\u2026)';
  return ': pass strings, numbers, arrays and plain objects';
}

/** At most so many bytes of UTF-8, cut between characters, the marker included; and text that UTF-8 can hold. */
function cutText(text, bytesMax, marker = '\u2026') {
  // One more than can fit shows that something is missing.
  const data = Buffer.from(text.slice(0, bytesMax + 1));
  if (data.length <= bytesMax) return data.toString();
  const mark = Buffer.byteLength(marker) > bytesMax ? '' : marker;
  let end = bytesMax - Buffer.byteLength(mark);
  while (end > 0 && (data[end] & 0xc0) === 0x80) end -= 1;
  return data.toString('utf8', 0, end) + mark;
}

/** What a result could not carry, in words, bounded. */
class Losses {
  constructor() {
    this.lines = [];
    this.more = 0;
  }

  note(where, what) {
    if (this.lines.length < LOSSES_MAX) this.lines.push(cutText(`${where}: ${what}`, 300));
    else this.more += 1;
  }

  asList() {
    return this.more > 0 ? [...this.lines, `and ${this.more} more`] : this.lines;
  }
}

/** Makes plain JSON of any value; what cannot be given back whole is noted. */
class Converter {
  constructor(textBytesMax, losses) {
    this.textBytesMax = textBytesMax;
    this.textBytesLeft = RESULT_TEXT_BYTES_MAX;
    this.nodesLeft = RESULT_NODES_MAX;
    this.losses = losses;
    this.path = new Set();
  }

  convert(value, where = 'value', depth = 1) {
    this.nodesLeft -= 1;
    switch (typeof value) {
      case 'string':
        return this.cut(value, where);
      case 'boolean':
        return value;
      case 'number':
        if (Number.isFinite(value)) return value;
        this.losses.note(where, `${value} became null`);
        return null;
      case 'undefined':
        if (depth > 1) this.losses.note(where, 'undefined became null');
        return null;
      case 'object':
        return value === null ? null : this.convertObject(value, where, depth);
      default:
        this.losses.note(where, `a ${typeof value} became text`);
        return this.cut(typeof value === 'function' ? `[function ${functionName(value)}]` : String(value), where);
    }
  }

  convertObject(value, where, depth) {
    if (this.path.has(value)) {
      this.losses.note(where, 'a cycle became text');
      return '<cycle>';
    }
    if (depth > RESULT_DEPTH_MAX) {
      this.losses.note(where, `nested deeper than ${RESULT_DEPTH_MAX} became text`);
      return `<nested deeper than ${RESULT_DEPTH_MAX}>`;
    }
    this.path.add(value);
    try {
      return this.convertKind(value, where, depth);
    } finally {
      this.path.delete(value);
    }
  }

  convertKind(value, where, depth) {
    const types = util.types;
    if (Array.isArray(value)) return this.convertList(value, value.length, where, depth);
    if (types.isPromise(value)) return this.asText(value, '<promise>', where, depth);
    if (types.isDate(value)) {
      const time = Date.prototype.getTime.call(value);
      return this.asText(value, Number.isFinite(time) ? new Date(time).toISOString() : 'Invalid Date', where, depth);
    }
    if (types.isRegExp(value)) return this.asText(value, RegExp.prototype.toString.call(value), where, depth);
    if (types.isNativeError(value)) {
      this.losses.note(where, `${describeKind(value)} became a plain object`);
      const error = readError(value);
      return { name: this.cut(error.name, where), message: this.cut(error.message, where) };
    }
    if (types.isSet(value)) {
      this.losses.note(where, 'a Set became an array');
      return this.convertList([...Set.prototype.values.call(value)], value.size, where, depth);
    }
    if (types.isMap(value)) return this.convertMap(value, where, depth);
    if (ArrayBuffer.isView(value) && !types.isDataView(value)) {
      this.losses.note(where, `${describeKind(value)} became an array`);
      return this.convertList(value, value.length, where, depth);
    }
    if (types.isBoxedPrimitive(value)) return this.convert(value.valueOf(), where, depth);
    return this.convertRecord(value, where, depth);
  }

  asText(value, text, where, depth) {
    this.losses.note(where, `${describeKind(value)} became text`);
    return this.cut(text, where);
  }

  convertList(list, length, where, depth) {
    const made = [];
    for (let at = 0; at < length; at += 1) {
      if (at >= RESULT_ENTRIES_MAX || this.isSpent()) {
        this.losses.note(where, leftOut(length - at));
        break;
      }
      made.push(this.convert(list[at], `${where}[${at}]`, depth + 1));
    }
    return made;
  }

  convertMap(map, where, depth) {
    const entries = [...Map.prototype.entries.call(map)];
    if (entries.every(([key]) => typeof key === 'string')) {
      this.losses.note(where, 'a Map became a plain object');
      return this.convertEntries(entries.map(([key, entry]) => [key, () => entry]), where, depth);
    }
    this.losses.note(where, 'a Map became an array of pairs');
    return this.convertList(entries, entries.length, where, depth);
  }

  convertRecord(value, where, depth) {
    if (!isPlainObject(value)) {
      if (typeof value.toJSON === 'function') {
        const plain = value.toJSON();
        if (typeof plain === 'string') return this.asText(value, plain, where, depth);
      }
      this.losses.note(where, `${describeKind(value)} became a plain object`);
    }
    if (Object.getOwnPropertySymbols(value).length > 0) this.losses.note(where, 'entries with symbols as keys were left out');
    return this.convertEntries(Object.keys(value).map((key) => [key, () => value[key]]), where, depth);
  }

  convertEntries(entries, where, depth) {
    // Without a prototype, so that a key `__proto__` is a key.
    const made = Object.create(null);
    for (const [at, [key, read]] of entries.entries()) {
      if (at >= RESULT_ENTRIES_MAX || this.isSpent()) {
        this.losses.note(where, leftOut(entries.length - at));
        break;
      }
      made[this.cut(key, where)] = this.convert(read(), where + keyText(key), depth + 1);
    }
    return made;
  }

  isSpent() {
    return this.nodesLeft <= 0 || this.textBytesLeft <= 0;
  }

  cut(text, where) {
    const made = cutText(text, Math.max(0, Math.min(this.textBytesMax, this.textBytesLeft)));
    if (made.length < text.length) this.losses.note(where, `a text of ${text.length} characters was cut`);
    else if (made !== text) this.losses.note(where, 'a text with a lone surrogate was changed');
    this.textBytesLeft -= Buffer.byteLength(made);
    return made;
  }
}

function leftOut(count) {
  return count === 1 ? '1 entry was left out' : `${count} entries were left out`;
}

function functionName(value) {
  try {
    return typeof value.name === 'string' && value.name !== '' ? value.name.slice(0, 60) : 'anonymous';
  } catch {
    return 'anonymous';
  }
}

/** The name, message and stack of anything that was thrown; runs the program's getters, but survives them. */
function readError(thrown) {
  try {
    if (typeof thrown === 'object' && thrown !== null && typeof thrown.message === 'string') {
      return {
        name: typeof thrown.name === 'string' && thrown.name !== '' ? thrown.name : 'Error',
        message: thrown.message,
        stack: typeof thrown.stack === 'string' ? thrown.stack : '',
      };
    }
    const text = typeof thrown === 'string' ? thrown : util.inspect(thrown, { customInspect: false, depth: 3 });
    return { name: 'Thrown', message: text, stack: '' };
  } catch {
    return { name: 'Error', message: '<error whose text could not be read>', stack: '' };
  }
}
