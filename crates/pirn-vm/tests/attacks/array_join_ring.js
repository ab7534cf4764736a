const ring = [];
for (let n = 0; n < 100; n++) ring.push(ring, [ring]);
return ring.join('-').length;
