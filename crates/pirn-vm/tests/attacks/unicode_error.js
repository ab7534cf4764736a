const e = new Error('half \ud800 of it');
e.name = 'N\udc00';
throw e;
