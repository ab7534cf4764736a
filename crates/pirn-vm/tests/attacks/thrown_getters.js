throw Object.defineProperties(new Error(), { message: { get() { for (;;) {} } }, stack: { get() { throw 1; } } });
