return 'x'.padEnd(2 ** 30 - 2, 'yz').length;
