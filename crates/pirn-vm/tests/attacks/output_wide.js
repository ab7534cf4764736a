for (;;) text('\u20ac'.repeat(1e6));
