return new Proxy([], { get: (list, key) => (key === 'length' ? 4294967295 : key === 'toJSON' ? undefined : 0) });
