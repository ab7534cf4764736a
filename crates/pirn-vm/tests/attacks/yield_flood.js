for (;;) yield_control();
