const b = new ArrayBuffer(8, { maxByteLength: 2 ** 30 });
for (let n = 16; ; n *= 2) b.resize(n);
