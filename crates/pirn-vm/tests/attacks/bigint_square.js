let x = 3n;
for (;;) x *= x;
