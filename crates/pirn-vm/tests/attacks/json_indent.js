let o = 1;
for (let n = 0; n < 2000; n++) o = [o];
return JSON.stringify([o, o, o, o, o, o], null, '          ').length;
