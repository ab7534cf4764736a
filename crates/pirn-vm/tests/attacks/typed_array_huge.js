const kept = [];
for (let n = 1; ; n *= 2) kept.push(new Float64Array(n));
