async function* ticks() { for (;;) yield 1; }
let sum = 0;
for await (const tick of ticks()) sum += tick;
