return await tools.echo({ get member() { for (;;) {} } });
