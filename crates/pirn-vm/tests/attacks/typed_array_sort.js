return new Float64Array(4e6).map((_, n) => (n * 7919) % 4000037).sort((a, b) => a - b)[1];
