return 'a'.repeat(2e7).indexOf('a'.repeat(1e7) + 'b');
