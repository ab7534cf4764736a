return new Date().toLocaleString('x'.repeat(1e6)).length > 0;
