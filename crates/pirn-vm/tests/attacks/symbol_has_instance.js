return {} instanceof { [Symbol.hasInstance]() { for (;;) {} } };
