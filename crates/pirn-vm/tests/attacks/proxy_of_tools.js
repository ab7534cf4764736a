const spy = new Proxy(tools, { get: (target, key) => target[key] ?? tools });
return [typeof spy.echo, await spy.echo(1), 'then' in spy];
