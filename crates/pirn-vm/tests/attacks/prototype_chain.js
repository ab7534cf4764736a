let o = {};
for (let n = 0; n < 1e6; n++) o = Object.create(o);
return o.missing === undefined;
