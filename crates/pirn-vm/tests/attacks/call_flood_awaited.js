for (;;) await Promise.all(Array.from({ length: 500 }, () => tools.echo('x')));
