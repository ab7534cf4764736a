let a = [1];
for (let n = 0; n < 200000; n++) a = [a];
return a.flat(Infinity).length;
