const s = 'x'.repeat(4e6);
for (;;) tools.echo(s);
