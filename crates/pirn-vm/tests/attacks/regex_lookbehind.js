return /(?<=(x+x+)+)y/.test('x'.repeat(40) + 'z');
