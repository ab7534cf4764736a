return { get then() { for (;;) {} } };
