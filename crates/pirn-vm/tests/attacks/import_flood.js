for (let n = 0; n < 20000; n++) import('x'.repeat(100) + n).catch(() => {});
return 'none';
