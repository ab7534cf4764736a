return eval(`const ${'i'.repeat(5e6)} = 1; 2`);
