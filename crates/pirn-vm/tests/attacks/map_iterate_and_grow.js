const s = new Set([0]);
for (const n of s) s.add(n + 1);
