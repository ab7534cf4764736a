setTimeout(() => { for (;;) {} });
await new Promise(() => {});
