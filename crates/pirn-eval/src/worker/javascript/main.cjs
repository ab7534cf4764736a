
// Part 3: running one program, and talking to the broker.

const ERROR_BYTES_MAX = 32_768;
const TRACE_LINES_MAX = 40;
const PREFIX = '(async () => {';
// A pipe whose reader is behind is tried again after so many milliseconds.
const RETRY_MS = 2;
const CONSOLE_METHODS = ['log', 'info', 'debug', 'error', 'warn', 'trace', 'dir', 'table', 'group', 'groupCollapsed', 'groupEnd', 'assert', 'count', 'countReset', 'time', 'timeLog', 'timeEnd'];

// Node finds what is imported from the working folder; before it could, a function did.
const importModuleDynamically = vm.constants?.USE_MAIN_CONTEXT_DEFAULT_LOADER ?? ((specifier) => import(specifier));

// That this is experimental in some versions of Node is nothing that the author of a program could change.
const { emitWarning } = process;
process.emitWarning = (warning, ...rest) => {
  if (!String(warning).startsWith('vm.USE_MAIN_CONTEXT_DEFAULT_LOADER')) emitWarning(warning, ...rest);
};

const CompiledFunction = (async () => {}).constructor;

/** Writes all of a text before it returns, also to a pipe that is full. */
function writeAll(descriptor, text) {
  let data = Buffer.from(text);
  while (data.length > 0) {
    try {
      data = data.subarray(fs.writeSync(descriptor, data));
    } catch (error) {
      if (error.code !== 'EAGAIN') return;
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, RETRY_MS);
    }
  }
}

function streamOn(descriptor) {
  const stream = { write: (text) => { writeAll(descriptor, text); return true; } };
  for (const method of ['on', 'once', 'removeListener', 'off', 'emit']) stream[method] = () => stream;
  stream.listenerCount = () => 0;
  return stream;
}

function failWorker(message) {
  writeAll(2, `pirn worker: ${message}\n`);
  process.exit(2);
}

/** Integers that a number cannot hold are marked, to become bigints; null where there are none, which is nearly always. */
function markIntegers(text) {
  if (!/\d{16}/.test(text)) return null;
  let mark = '#';
  while (text.includes(mark)) mark = `#${Math.random().toString(36).slice(2)}#`;
  let count = 0;
  const marked = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?/g, (token) => {
    if (token.length < 16 || !/^-?\d+$/.test(token)) return token;
    const number = Number(token);
    if (Number.isFinite(number) && BigInt(number) === BigInt(token)) return token;
    count += 1;
    return `"${mark}${token}"`;
  });
  return count > 0 ? { text: marked, mark } : null;
}

class Worker {
  constructor(descriptor) {
    this.socket = new net.Socket({ fd: descriptor, readable: true, writable: true });
    this.chunks = [];
    this.length = 0;
    this.evalFrame = null;
    this.isFinished = false;
    this.pending = 0;
    this.calls = 0;
    // The names of the calls that are under way, by their ids.
    this.names = new Map();
    this.catalog = new Map();
    this.limit = 256;
    this.isLooking = false;
    this.timers = new Map();
    this.timerId = 0;
    this.rejections = new Map();
    this.isBodyDone = false;
    this.losses = new Losses();
    this.result = {};
    this.started = 0;
  }

  start() {
    this.socket.on('data', (chunk) => this.read(chunk));
    // Without a broker nothing can be reported to anybody.
    this.socket.on('close', () => process.exit(0));
    this.socket.on('error', () => process.exit(0));
    process.on('unhandledRejection', (reason, promise) => this.rejections.set(promise, reason));
    process.on('rejectionHandled', (promise) => this.rejections.delete(promise));
    process.on('uncaughtException', (error) => this.fail(error));
    // Nothing is left that could settle a promise: neither calls nor timers nor what modules of Node have under way.
    process.on('beforeExit', () => {
      this.socket.ref();
      this.fail({ name: 'Deadlock', message: 'the program waits for a promise that nothing can settle' });
    });
    this.prepareRealm();
    this.send({ type: 'ready', runtime: 'javascript', version: process.versions.node });
  }

  // Frames.

  send(frame) {
    this.socket.write(`${JSON.stringify(frame)}\n`);
  }

  read(chunk) {
    let rest = chunk;
    for (;;) {
      const end = rest.indexOf(10);
      if (end < 0) break;
      this.chunks.push(rest.subarray(0, end));
      rest = rest.subarray(end + 1);
      const line = this.chunks.length === 1 ? this.chunks[0] : Buffer.concat(this.chunks);
      this.chunks = [];
      this.length = 0;
      this.dispatch(line.toString());
    }
    this.chunks.push(rest);
    this.length += rest.length;
    if (this.length > FRAME_BYTES_MAX) failWorker('a frame of the broker is too long');
  }

  dispatch(line) {
    const frame = JSON.parse(line);
    if (frame.type === 'capability_result') this.answer(frame, line);
    else if (frame.type === 'eval' && this.evalFrame === null) this.evaluate(frame, line);
    else if (frame.type === 'finalize' && this.isFinished && frame.id === this.evalFrame.id) {
      this.socket.write(`${JSON.stringify({ type: 'eval_complete', id: frame.id, token: frame.token })}\n`, () => process.exit(0));
    } else failWorker(`the broker sent ${String(frame.type).slice(0, 64)} out of order`);
  }

  // What programs reach.

  prepareRealm() {
    const globals = Object.create(null);
    const context = vm.createContext(globals, { name: 'eval', codeGeneration: { strings: false, wasm: false } });
    for (const [name, value] of Object.entries({ TextEncoder, TextDecoder, URL, URLSearchParams })) {
      Object.defineProperty(globals, name, { configurable: true, writable: true, enumerable: false, value });
    }
    const printer = new console.Console({
      stdout: streamOn(1),
      stderr: streamOn(2),
      colorMode: false,
      inspectOptions: { customInspect: false, depth: 4, maxArrayLength: 200, breakLength: 120 },
    });
    const host = Object.assign(Object.create(null), {
      markIntegers,
      call: (name, input) => this.call(name, input),
      check: (name, input) => this.prepareCall(name, input).problem,
      setTimeout: (callback, delay) => this.addTimer(callback, delay, setTimeout, clearTimeout, true),
      setInterval: (callback, delay) => this.addTimer(callback, delay, setInterval, clearInterval, false),
      setImmediate: (callback) => this.addTimer(callback, 0, setImmediate, clearImmediate, true),
      clearTimer: (id) => this.clearTimer(id),
      uncaught: (error) => this.fail(error),
      // Packages are found from the working folder, as in a file that lies there.
      makeRequire: () => createRequire(path.join(process.cwd(), 'eval.cjs')),
      consoleMethods: CONSOLE_METHODS,
      print: (method, values) => {
        try {
          printer[method](...values);
          return null;
        } catch (error) {
          return readError(error).message;
        }
      },
    });
    this.context = context;
    this.realm = vm.runInContext(`(${realm.toString()})`, context, { filename: 'pirn:realm' })(host);
  }

  addTimer(callback, delay, set, clear, isOnce) {
    this.timerId += 1;
    const id = this.timerId;
    const run = () => {
      if (isOnce) this.timers.delete(id);
      try {
        callback();
      } catch (error) {
        this.fail(error);
      }
      this.lookForEnd();
    };
    const handle = set === setImmediate ? setImmediate(run) : set(run, delay);
    this.timers.set(id, () => clear(handle));
    return id;
  }

  clearTimer(id) {
    this.timers.get(id)?.();
    this.timers.delete(id);
    this.lookForEnd();
  }

  prepareCall(name, input) {
    const refuse = (refusal, kind) => ({ problem: { refusal, kind, isType: kind === undefined } });
    if (typeof name !== 'string') return refuse(`the name of a tool must be a string, not ${describeKind(name)}`);
    if (name.length > 64) return refuse(`no tool has a name of ${name.length} characters`, 'CapabilityUnknown');
    const value = input === undefined ? {} : input;
    if (typeof value !== 'object' || value === null || Array.isArray(value)) {
      const properties = Object.keys(this.catalog.get(name)?.parameters?.properties ?? {}).slice(0, 12);
      return refuse(`tool.${name} takes one object${properties.length > 0 ? ` {${properties.join(', ')}}` : ''}, not ${describeKind(value)}`);
    }
    try {
      return { problem: null, text: inputText(value) };
    } catch (error) {
      if (error instanceof Refusal) return refuse(`the input of tool.${name} was not sent: ${error.message}`, error.kind);
      return refuse(`the input of tool.${name} was not sent: ${readError(error).message}`, 'InputInvalid');
    }
  }

  call(name, input) {
    const { problem, text } = this.prepareCall(name, input);
    if (problem !== null) return problem;
    if (this.isFinished || this.result.error !== undefined) return { refusal: 'the eval is over', kind: 'EvalOver', isType: false };
    this.calls += 1;
    this.pending += 1;
    this.socket.ref();
    const id = `c${this.calls}`;
    const spelled = JSON.stringify(Buffer.from(name).toString());
    this.socket.write(`{"type":"capability_call","evalId":${JSON.stringify(this.evalFrame.id)},"callId":"${id}","name":${spelled},"input":${text}}\n`);
    this.names.set(id, name);
    return { id };
  }

  answer(frame, line) {
    const name = this.names.get(frame.callId);
    if (name === undefined || this.isFinished) return;
    this.names.delete(frame.callId);
    this.pending -= 1;
    if (frame.ok) {
      // Read again, in the program's realm and with its integers.
      this.realm.settle(frame.callId, true, this.realm.parseExact(line).value, '');
    } else {
      const message = String(frame.error?.message ?? 'the call failed');
      this.realm.settle(frame.callId, false, message + this.suggestion(name, message), String(frame.error?.name ?? 'CapabilityFailed'));
    }
    this.lookForEnd();
  }

  suggestion(name, message) {
    if (this.catalog.has(name)) return '';
    const close = [...this.catalog.keys()]
      .filter((other) => editDistance(name, other) <= Math.max(2, name.length / 3) && !message.includes(other))
      .slice(0, 3);
    return close.length > 0 ? ` (did you mean ${close.map((other) => `tool.${other}`).join(' or ')}?)` : '';
  }

  // The program.

  evaluate(frame, line) {
    this.evalFrame = frame;
    this.started = performance.now();
    this.limit = Math.max(256, frame.outputLimitBytes);
    this.catalog = new Map(frame.capabilities.map((capability) => [capability.name, capability]));
    try {
      process.chdir(frame.cwd);
      const state = this.realm.parseExact(line).state ?? {};
      this.realm.begin(jsonText(state, INPUT_RULES), JSON.stringify(frame.capabilities));
      const script = this.compile(frame.code);
      const promise = script.runInContext(this.context, { displayErrors: false })();
      this.realm.follow(promise, (value) => this.finishBody(value), (error) => this.fail(error));
    } catch (error) {
      this.fail(error);
    }
    this.lookForEnd();
  }

  compile(code) {
    let script;
    try {
      script = new vm.Script(`${PREFIX}${code}\n})`, { filename: '<eval>', columnOffset: -PREFIX.length, importModuleDynamically });
    } catch (error) {
      throw syntaxError(error, code);
    }
    try {
      // A body that closes its own function would be another program than it seems.
      new CompiledFunction(code);
    } catch (error) {
      throw syntaxError(error, code);
    }
    return script;
  }

  finishBody(value) {
    if (this.isBodyDone) return;
    this.isBodyDone = true;
    try {
      if (value !== undefined) this.result.value = new Converter(this.limit, this.losses).convert(value);
    } catch (error) {
      this.fail(error);
      return;
    }
    this.lookForEnd();
  }

  /** After everything that is ready has run: ends the eval when nothing of it is open. */
  lookForEnd() {
    if (this.isLooking || this.isFinished) return;
    this.isLooking = true;
    // One turn of the loop: rejections are reported before.
    setImmediate(() => setImmediate(() => {
      this.isLooking = false;
      if (this.isFinished || this.pending > 0) return;
      if (this.isBodyDone) {
        for (const reason of this.rejections.values()) this.fail(reason);
        this.finish();
      } else {
        // The socket alone must not keep the process; see `beforeExit`.
        this.socket.unref();
      }
    }));
  }

  /** The first failure counts. The calls that are under way are awaited, and no others are made. */
  fail(thrown) {
    if (this.result.error !== undefined || this.isFinished) return;
    const error = withReplacement(readError(thrown));
    const limit = Math.min(this.limit, ERROR_BYTES_MAX);
    this.result = {
      error: { name: cutText(error.name, 200), message: cutText(error.message, limit), trace: cutText(traceText(error), limit) },
    };
    if (this.evalFrame === null) failWorker(`failed before an eval: ${error.message}`);
    this.isBodyDone = true;
    this.lookForEnd();
  }

  finish() {
    const { evalFrame } = this;
    this.isFinished = true;
    this.socket.ref();
    for (const clear of this.timers.values()) clear();
    let state;
    if (this.result.error === undefined) {
      try {
        const descriptor = vm.runInContext("Reflect.getOwnPropertyDescriptor(globalThis, 'state')", this.context);
        if (descriptor === undefined) throw new Refusal('`state` was deleted; it must stay an object', 'StateInvalid');
        state = stateText(vm.runInContext('globalThis.state', this.context));
      } catch (error) {
        const kind = error instanceof Refusal ? error.kind : 'StateInvalid';
        this.result = { error: { name: kind, message: cutText(readError(error).message, this.limit), trace: '' } };
      }
    }
    const isOk = this.result.error === undefined;
    const frame = { type: 'eval_result', id: evalFrame.id, ok: isOk, elapsedMs: Math.round(performance.now() - this.started), ...this.result };
    if (isOk && this.losses.lines.length > 0) frame.lossy = this.losses.asList();
    let text = JSON.stringify(frame);
    if (isOk) text = `${text.slice(0, -1)},"state":${state}}`;
    const bytes = Buffer.byteLength(text);
    if (bytes > FRAME_BYTES_MAX) {
      const message = `the result has ${bytes} bytes and ${FRAME_BYTES_MAX} is the limit; state was not committed`;
      text = JSON.stringify({ type: 'eval_result', id: evalFrame.id, ok: false, elapsedMs: frame.elapsedMs, error: { name: 'ResultTooLarge', message, trace: '' } });
    }
    this.socket.write(`${text}\n`);
  }
}

/** Globals that Node has and programs have not, and how they get them. */
const REPLACEMENTS = new Map([
  ['process', "const process = require('node:process')"],
  ['Buffer', "const { Buffer } = require('node:buffer')"],
  ['crypto', "const crypto = require('node:crypto')"],
  ['fetch', "const http = require('node:http'), or a tool that reaches the network"],
  ['performance', "const { performance } = require('node:perf_hooks')"],
  ['AbortController', 'the time-out of the eval ends what takes too long'],
  ['structuredClone', "const clone = require('node:v8').deserialize(require('node:v8').serialize(value))"],
  ['__dirname', 'paths are relative to the working folder'],
  ['__filename', 'a program has no file'],
  ['module', 'a program hands its value over with return'],
  ['exports', 'a program hands its value over with return'],
]);

/** Says of a name that is not defined how a program gets it. */
function withReplacement(error) {
  const missing = /^(\w+) is not defined$/.exec(error.message);
  const replacement = missing === null || error.name !== 'ReferenceError' ? undefined : REPLACEMENTS.get(missing[1]);
  return replacement === undefined ? error : { ...error, message: `${error.message}; instead: ${replacement}` };
}

/** What of modules a program has not, by the engine's words for it, and what to write instead. */
const OF_MODULES = new Map([
  ["Unexpected token 'export'", 'a program is the body of a function: leave export out, and return the value'],
  ['Cannot use import statement outside a module', "a program can have import NAME from 'PACKAGE' without attributes; for anything else there is await import('PACKAGE')"],
]);

/** The message of a syntax error with its place in the program. */
function syntaxError(error, code) {
  const text = readError(error);
  const advice = OF_MODULES.get(text.message);
  if (advice !== undefined) text.message += `; ${advice}`;
  const lines = code.split('\n');
  const parts = text.stack.split('\n');
  const numbered = /^<eval>:(\d+)$/.exec(parts[0]);
  if (numbered === null) return { name: text.name, message: text.message, stack: '' };
  const line = Math.min(Number(numbered[1]), lines.length);
  if (line < Number(numbered[1])) {
    return { name: text.name, message: `${text.message}: the program ends too early (line ${line})`, stack: '' };
  }
  const column = Math.max(1, (parts[2] ?? '').indexOf('^') + 1 - (line === 1 ? PREFIX.length : 0));
  return {
    name: text.name,
    message: `${text.message} (line ${line}, column ${column})`,
    stack: `<eval>:${line}:${column}\n    ${cutText(lines[line - 1].trim(), 300)}`,
  };
}

/** An error for its author: the program's own lines only. */
function traceText(error) {
  const lines = error.stack.split('\n').filter((line) => /<eval>:\d+/.test(line) || (/^ {4}\S/.test(line) && !/^ {4}at /.test(line) && error.stack.startsWith('<eval>')));
  const shown = lines.length > TRACE_LINES_MAX ? [...lines.slice(0, TRACE_LINES_MAX), `    [${lines.length - TRACE_LINES_MAX} more]`] : lines;
  return `${error.name}: ${cutText(error.message, 4_000)}\n${shown.map((line) => `${cutText(line, 400)}\n`).join('')}`;
}

function editDistance(left, right) {
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let at = 1; at <= left.length; at += 1) {
    const following = [at];
    for (let to = 1; to <= right.length; to += 1) {
      following[to] = Math.min(row[to] + 1, following[to - 1] + 1, row[to - 1] + (left[at - 1] === right[to - 1] ? 0 : 1));
    }
    row = following;
  }
  return row[right.length];
}

const [mode, descriptor] = process.argv.slice(1);
if (mode !== 'once' || !/^\d+$/.test(descriptor ?? '')) failWorker(`expected once FD, got ${JSON.stringify(process.argv.slice(1)).slice(0, 200)}`);
new Worker(Number(descriptor)).start();
