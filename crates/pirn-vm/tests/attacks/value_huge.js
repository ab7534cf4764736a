return 'x'.repeat(3e7);
