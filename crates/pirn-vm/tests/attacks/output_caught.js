for (;;) try { text('x'.repeat(1e6)); } catch {}
