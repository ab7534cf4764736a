let list = null;
for (;;) list = { list, more: [list] };
