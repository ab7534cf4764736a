return eval('!'.repeat(1e6) + '1');
