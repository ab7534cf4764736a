return 'a'.repeat(1e5).replace(/a/g, () => { for (;;) {} });
