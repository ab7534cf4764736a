const fake = { length: 2 ** 53 - 1, [Symbol.isConcatSpreadable]: true };
return [].concat(fake, fake).length;
