return /^(?:(.*)\1)+$/u.test('ab'.repeat(2000) + 'c');
