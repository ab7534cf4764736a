const a = Array.from({ length: 5000 }, (_, n) => n);
return a.sort((x, y) => { a.length = 0; a.push(x, y); return y - x; }).length;
