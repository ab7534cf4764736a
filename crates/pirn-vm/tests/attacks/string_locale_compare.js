const s = '\u1e9b\u0323'.repeat(2e6);
return s.localeCompare(s + 'x');
