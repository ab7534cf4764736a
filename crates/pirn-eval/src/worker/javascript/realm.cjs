
// Part 2: what programs see. This function's source is run inside their context, so that every function, promise and error
// they get is of their own realm; with the outside it exchanges text and settles promises.

function realm(host) {
  const { parse } = JSON;
  const { create, freeze, defineProperty } = Object;
  const makeBigInt = BigInt;
  const PromiseClass = Promise;
  const then = Promise.prototype.then;
  const { apply } = Reflect;
  Error.stackTraceLimit = 50;
  // Promises that only the machinery of the engine could settle would look like a program that waits for nothing.
  delete Atomics.waitAsync;

  class ToolError extends Error {
    constructor(message, name) {
      super(message);
      this.name = name;
      // As scripts call it; any other name is a failure of the tool itself.
      this.kind = { CapabilityUnknown: 'not_found', CapabilityNotAdmitted: 'denied', InputInvalid: 'invalid_arguments', EvalOver: 'cancelled' }[name] ?? 'failed';
    }
  }

  const parseExact = (text) => {
    const marked = host.markIntegers(text);
    if (marked === null) return parse(text);
    return parse(marked.text, (_key, value) =>
      typeof value === 'string' && value.startsWith(marked.mark) ? makeBigInt(value.slice(marked.mark.length)) : value);
  };

  // Answers, by the id of their call.
  const waiting = create(null);

  const call = (name, input) =>
    new PromiseClass((resolve, reject) => {
      const started = host.call(name, input);
      if (started.refusal !== undefined) {
        reject(started.isType ? new TypeError(started.refusal) : new ToolError(started.refusal, started.kind));
        return;
      }
      waiting[started.id] = { resolve, reject };
    });

  const settle = (id, isOk, value, name) => {
    const { resolve, reject } = waiting[id];
    delete waiting[id];
    if (isOk) resolve(value);
    else reject(new ToolError(value, name));
  };

  const parallel = async (calls, maxConcurrency = 4) => {
    if (!Number.isInteger(maxConcurrency) || maxConcurrency < 1 || maxConcurrency > 32) {
      throw new RangeError('maxConcurrency must be a whole number from 1 to 32');
    }
    const list = [...calls];
    list.forEach((entry, at) => {
      const isCall = typeof entry === 'object' && entry !== null && typeof entry.name === 'string' && !(entry instanceof PromiseClass);
      if (!isCall) {
        throw new TypeError(`call ${at} must be {name, input}; tool.parallel makes the calls itself, so do not call the tools in the list`);
      }
      const problem = host.check(entry.name, entry.input);
      if (problem !== null) throw problem.isType ? new TypeError(problem.refusal) : new ToolError(problem.refusal, problem.kind);
    });
    const results = new Array(list.length).fill(undefined);
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
    await PromiseClass.all(Array.from({ length: Math.min(maxConcurrency, list.length) }, work));
    if (failures.length > 0) throw failures.sort((left, right) => left.at - right.at)[0].error;
    return results;
  };

  const makeTool = (catalogText) => {
    const catalog = parse(catalogText);
    const target = create(null);
    const add = (name, value) => defineProperty(target, name, { value, enumerable: true });
    const shorthand = (name) => {
      const shape = { [name]: (...inputs) => call(name, inputs.length > 1 ? inputs : inputs[0]) };
      return shape[name];
    };
    for (const { name } of catalog) add(name, shorthand(name));
    add('call', (name, input) => call(name, input));
    add('list', () => parse(catalogText));
    add('parallel', (calls, maxConcurrency) => parallel(calls, maxConcurrency));
    freeze(target);
    // What the language itself asks objects for; with a function for `then`, `await tool` would wait for ever.
    const reserved = new Set(['then', 'catch', 'finally', 'constructor', 'prototype', 'inspect', 'length', 'name', 'caller', 'arguments']);
    return new Proxy(target, {
      get: (object, key) => {
        if (typeof key !== 'string' || key in object) return object[key];
        // An unknown name is called all the same: the host says what there is, and keeps a receipt.
        return /^[a-z][a-z0-9_]{0,63}$/.test(key) && !reserved.has(key) ? shorthand(key) : undefined;
      },
    });
  };

  // Timers: numbers, as in browsers; the host keeps the real ones.
  const timer = (start) => (callback, delay, ...values) => {
    if (typeof callback !== 'function') throw new TypeError('the callback of a timer must be a function');
    return start(() => apply(callback, undefined, values), Number(delay));
  };
  const timers = {
    setTimeout: timer(host.setTimeout),
    setInterval: timer(host.setInterval),
    setImmediate: (callback, ...values) => timer(host.setImmediate)(callback, 0, ...values),
    clearTimeout: (id) => host.clearTimer(id),
    clearInterval: (id) => host.clearTimer(id),
    clearImmediate: (id) => host.clearTimer(id),
    queueMicrotask: (callback) => {
      if (typeof callback !== 'function') throw new TypeError('the callback of queueMicrotask must be a function');
      apply(then, PromiseClass.resolve(), [() => {
        try {
          apply(callback, undefined, []);
        } catch (error) {
          host.uncaught(error);
        }
      }]);
    },
  };

  const consoleObject = {};
  for (const method of host.consoleMethods) {
    consoleObject[method] = (...values) => {
      const problem = host.print(method, values);
      if (problem !== null) throw new Error(problem);
    };
  }

  const begin = (stateText, catalogText) => {
    const hidden = { configurable: true, writable: true, enumerable: false };
    for (const [name, value] of Object.entries({ ...timers, console: consoleObject })) {
      defineProperty(globalThis, name, { ...hidden, value });
    }
    defineProperty(globalThis, 'state', { configurable: true, writable: true, enumerable: true, value: parseExact(stateText) });
    const tool = makeTool(catalogText);
    for (const name of ['tool', 'tools']) {
      defineProperty(globalThis, name, { configurable: false, writable: false, enumerable: true, value: tool });
    }
    defineProperty(globalThis, 'require', { ...hidden, value: host.makeRequire() });
  };

  const follow = (promise, onValue, onError) => {
    apply(then, promise, [onValue, onError]);
  };
  return { begin, follow, parseExact, settle };
}
