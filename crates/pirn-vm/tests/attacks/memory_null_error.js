const kept = [];
try { for (;;) kept.push({}); } catch (error) { for (;;) kept.push(error, {}); }
