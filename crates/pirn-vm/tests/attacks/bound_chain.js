let f = () => 1;
for (let n = 0; n < 200000; n++) f = f.bind(null);
return f();
