const Other = Object.getPrototypeOf(async function () {}).constructor;
const names = await new Other('return Object.getOwnPropertyNames(globalThis).filter((n) => /native|host|pirn/i.test(n))')();
return [names, new Function('return this')() === globalThis, (0, eval)('typeof native')];
