text({ toJSON() { return undefined; }, toString() { for (;;) {} } });
