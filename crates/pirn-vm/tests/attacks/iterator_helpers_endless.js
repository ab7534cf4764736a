function* ones() { for (;;) yield 1; }
return ones().map((n) => n).filter(() => false).next();
