}), (() => {
  return { then(succeed, fail) { for (;;) { succeed(1); fail(2); } } };
