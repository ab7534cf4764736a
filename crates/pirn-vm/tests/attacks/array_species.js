class Odd extends Array { static get [Symbol.species]() { return function () { return Object.freeze([1]); }; } }
return new Odd(1, 2, 3).map((n) => n).length;
