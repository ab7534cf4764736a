class Again { constructor() { return Reflect.construct(Again, []); } }
new Again();
