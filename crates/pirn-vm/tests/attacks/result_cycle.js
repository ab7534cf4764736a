const ring = []; ring.push({ ring }); return ring;
