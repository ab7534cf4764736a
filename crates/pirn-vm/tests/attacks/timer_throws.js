setTimeout(() => { throw { get message() { for (;;) {} }, toJSON() { for (;;) {} } }; });
await new Promise(() => {});
