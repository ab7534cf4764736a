const b = new ArrayBuffer(64), view = new Uint8Array(b);
view.fill({ valueOf() { b.transfer(0); return 1; } });
return [view.length, view[0]];
