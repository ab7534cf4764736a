queueMicrotask(() => { throw new Error('from a job'); });
await tools.echo(1);
return 1;
