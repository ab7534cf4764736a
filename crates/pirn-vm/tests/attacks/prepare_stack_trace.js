try { Error.prepareStackTrace = () => { for (;;) {} }; } catch {}
class Mine extends Error { static prepareStackTrace() { for (;;) {} } }
try { null.x; } catch (error) { return typeof error.stack + typeof new Mine().stack; }
