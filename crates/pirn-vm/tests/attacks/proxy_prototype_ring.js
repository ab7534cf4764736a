const p = new Proxy({}, { getPrototypeOf: () => p, has: () => p in p });
return 'x' in Object.create(p);
