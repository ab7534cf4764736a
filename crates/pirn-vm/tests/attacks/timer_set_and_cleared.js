for (;;) clearTimeout(setTimeout(() => {}, 1e6));
