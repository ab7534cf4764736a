return 1 + { [Symbol.toPrimitive]() { for (;;) {} } };
