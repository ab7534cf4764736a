return { get member() { for (;;) {} } };
