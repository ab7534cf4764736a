const tries = [
  () => { Promise.prototype.then = () => { for (;;) {} }; },
  () => { Array.prototype.map = null; Array.prototype[0] = 'seen'; },
  () => { Object.prototype.toJSON = () => 'seen'; },
  () => { Object.defineProperty(Object.prototype, 'then', { get() { for (;;) {} } }); },
  () => { Object.setPrototypeOf(Array.prototype, { 0: 'seen' }); },
  () => { JSON.stringify = () => 'seen'; RegExp.prototype.exec = null; },
];
for (const attempt of tries) try { attempt(); } catch {}
return [await tools.echo([1]), [undefined][0] ?? 'unset'];
