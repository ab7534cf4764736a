let o = {};
for (let n = 0; n < 200000; n++) o = { o };
return structuredClone(o) !== o;
