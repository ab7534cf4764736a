text({ get a() { exit(); } });
for (;;) {}
