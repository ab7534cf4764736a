const o = { toString() { return `${this}`; } };
return String(o);
