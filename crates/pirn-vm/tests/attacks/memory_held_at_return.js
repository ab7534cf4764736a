globalThis.kept = [];
try { for (;;) kept.push(new Uint8Array(1 << 16)); } catch {}
try { for (;;) kept.push({}); } catch {}
return { done: true, list: [1, 2, 3] };
