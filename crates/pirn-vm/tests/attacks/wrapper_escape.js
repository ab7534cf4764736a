}), (() => {
  return { then() { throw Object.defineProperty(new Error('m'), 'message', { get() { for (;;) {} } }); } };
