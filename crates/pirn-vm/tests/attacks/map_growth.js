const m = new Map();
for (let n = 0; ; n++) m.set(n, m);
