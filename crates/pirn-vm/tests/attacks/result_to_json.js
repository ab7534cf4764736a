return { toJSON() { for (;;) {} } };
