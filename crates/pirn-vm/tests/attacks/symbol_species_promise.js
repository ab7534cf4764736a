class Slow extends Promise { static get [Symbol.species]() { for (;;) {} } }
return await Slow.resolve(1).then((n) => n);
