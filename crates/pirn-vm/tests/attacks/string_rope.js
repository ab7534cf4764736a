let left = '', right = '';
for (let n = 0; n < 300000; n++) { left = left + 'ab'; right = 'ab' + right; }
return left.charCodeAt(7) + right.charCodeAt(7);
