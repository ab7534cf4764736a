return String.raw({ raw: { length: 2 ** 32 } }, 1);
