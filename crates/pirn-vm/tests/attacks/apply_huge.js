return Reflect.apply(String.fromCharCode, null, { length: 2 ** 31 });
