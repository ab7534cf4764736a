return new RegExp('(?:'.repeat(12) + 'a' + '){1000}'.repeat(12)).test('a');
