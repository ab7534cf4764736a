function* numbers() { let n = 0; try { for (;;) yield n++; } finally { for (;;) {} } }
for (const n of numbers()) if (n > 1000) break;
