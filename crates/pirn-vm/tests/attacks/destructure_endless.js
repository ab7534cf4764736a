const [...all] = { *[Symbol.iterator]() { for (;;) yield 0; } };
return all.length;
