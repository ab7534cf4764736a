const a = [];
a[4294967294] = 1;
return [a.length, a.indexOf(2), a.concat(a).length, a.join('').length];
