return BigInt('9'.repeat(2e6)) % 97n === 0n;
