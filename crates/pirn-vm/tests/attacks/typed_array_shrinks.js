const b = new ArrayBuffer(4096, { maxByteLength: 8192 }), view = new Uint8Array(b);
view.set({ length: 4000, get 10() { b.resize(8); return 1; } });
view.subarray(0, { valueOf() { b.resize(0); return 4096; } });
return [view.length, view.at(-1) ?? null];
