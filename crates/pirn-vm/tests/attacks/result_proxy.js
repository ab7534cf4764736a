return new Proxy({}, { ownKeys() { for (;;) {} }, get() { for (;;) {} } });
