let list = null;
for (let n = 0; n < 400000; n++) list = { list };
list = null;
return 'freed';
