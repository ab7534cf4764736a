for (let n = 0; n < 1000; n++) { Promise.resolve().then(exit); setTimeout(exit); }
await new Promise(() => {});
