let p = {};
for (let n = 0; n < 200000; n++) p = new Proxy(p, {});
return p.x === undefined;
