const e = new Error('m'.repeat(1e7));
e.name = 'N'.repeat(1e7);
throw e;
