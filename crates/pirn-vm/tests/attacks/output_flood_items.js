for (;;) text('');
