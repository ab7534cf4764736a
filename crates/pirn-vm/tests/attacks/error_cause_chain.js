let e = new Error('0');
for (let n = 0; n < 200000; n++) e = new AggregateError([e], 'n', { cause: e });
throw e;
