function outer() { return inner(); }
function inner() { try { return [arguments.callee.caller === null, inner.caller]; } catch (e) { return e.name; } }
return outer();
