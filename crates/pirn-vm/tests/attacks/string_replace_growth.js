let s = 'a'.repeat(1000);
for (;;) s = s.replaceAll('a', 'aa');
