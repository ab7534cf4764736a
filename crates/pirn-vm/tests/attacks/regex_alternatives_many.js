return new RegExp('a|'.repeat(1e6)).test('b');
