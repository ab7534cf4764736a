return new Function('a', '}), (() => { for (;;) {} })(), (function () {')();
