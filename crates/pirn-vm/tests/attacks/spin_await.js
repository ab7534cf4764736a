for (;;) await undefined;
