let c = class {};
for (let n = 0; n < 100000; n++) c = class extends c {};
return new c() instanceof c;
