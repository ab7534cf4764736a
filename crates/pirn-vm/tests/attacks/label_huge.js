const name = 'l'.repeat(2e6);
return eval(`${name}: for (;;) { break ${name}; } 3`);
