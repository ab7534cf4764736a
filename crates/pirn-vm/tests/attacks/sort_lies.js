return Array.from({ length: 20000 }, (_, n) => n).sort(() => Math.random() - 0.5).length;
