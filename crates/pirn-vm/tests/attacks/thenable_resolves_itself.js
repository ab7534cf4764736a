const loop = { then(resolve) { resolve(loop); } };
return await loop;
