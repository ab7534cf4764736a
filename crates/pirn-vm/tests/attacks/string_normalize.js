return '\ufdfa'.repeat(3e6).normalize('NFKD').length;
