const s = 'x'.repeat(1e7);
return (await tools.echo([s, s, s])).length;
