return Object.keys(new Proxy({}, { ownKeys: () => Array.from({ length: 3e6 }, (_, n) => String(n)) })).length;
