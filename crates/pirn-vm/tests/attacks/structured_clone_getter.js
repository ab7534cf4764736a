return structuredClone({ get a() { return structuredClone(this); } });
