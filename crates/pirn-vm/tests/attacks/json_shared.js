let o = ['x'];
for (let n = 0; n < 60; n++) o = [o, o];
return JSON.stringify(o).length;
