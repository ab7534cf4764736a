for (;;) notify('n');
