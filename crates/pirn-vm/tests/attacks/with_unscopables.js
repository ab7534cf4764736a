return new Function('o', 'with (o) { return x; }')({ get [Symbol.unscopables]() { for (;;) {} }, x: 1 });
