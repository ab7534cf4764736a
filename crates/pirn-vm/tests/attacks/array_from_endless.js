return Array.from({ [Symbol.iterator]: () => ({ next: () => ({ done: false, value: 0 }) }) }).length;
