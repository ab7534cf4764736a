return 'ab'.repeat(2e7).split('').length;
