globalThis.kept = [];
try { for (;;) kept.push(new Uint8Array(1 << 16)); } catch {}
try { for (;;) kept.push(new Uint8Array(64)); } catch {}
throw new Error('and now this');
