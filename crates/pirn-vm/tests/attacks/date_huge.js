return [new Date(8.64e15 + 1).getTime(), new Date(NaN).getTime(), Date.parse('9'.repeat(1e6))];
