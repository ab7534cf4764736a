return new Function(...Array.from({ length: 70000 }, (_, n) => `p${n}`), 'return 1')();
