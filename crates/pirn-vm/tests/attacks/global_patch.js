for (const name of Object.getOwnPropertyNames(globalThis)) {
  try { globalThis[name] = () => { for (;;) {} }; } catch {}
  try { delete globalThis[name]; } catch {}
  try { Object.defineProperty(globalThis, name, { get() { for (;;) {} } }); } catch {}
}
return await tools.echo(['still', typeof Promise]);
