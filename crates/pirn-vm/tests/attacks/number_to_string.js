let length = 0;
for (let n = 0; n < 200000; n++) length += (1 / 3 * 10 ** (n % 300)).toString(2 + n % 35).length;
return length;
