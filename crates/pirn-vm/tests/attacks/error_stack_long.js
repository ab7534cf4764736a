const name = 'n'.repeat(1e6);
const f = { [name]() { throw new Error(name); } }[name];
const deep = (n) => (n === 0 ? f() : deep(n - 1));
deep(500);
