let o = [];
for (let n = 0; n < 40; n++) o = { a: o, b: [o] };
const deep = [];
for (let n = 0; n < 1e6; n++) deep.push(structuredClone(o));
return deep.length;
