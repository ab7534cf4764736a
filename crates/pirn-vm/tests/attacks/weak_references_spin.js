const registry = new FinalizationRegistry(() => { for (;;) {} });
for (let n = 0; n < 2000; n++) registry.register({}, n);
await tools.echo(1);
return 'kept going';
