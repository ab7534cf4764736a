let o = {};
for (let n = 0; n < 300000; n++) o = { o };
return JSON.stringify(o).length;
