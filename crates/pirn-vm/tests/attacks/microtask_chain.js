const next = () => queueMicrotask(next);
next();
await new Promise(() => {});
