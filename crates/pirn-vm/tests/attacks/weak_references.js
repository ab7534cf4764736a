const registry = new FinalizationRegistry(() => { throw new Error('from the registry'); });
for (let n = 0; n < 20000; n++) { const o = { n }; registry.register(o, n); new WeakRef(o); }
await tools.echo(1);
return 'kept going';
