//! The programs that run inside the interpreters: standard library only, given as an argument, so that nothing has to be installed.
//!
//! `python3 -c PYTHON MODE FD [NAMESPACE]`, started in `/`, where MODE is `once`, `persistent` or `zygote`; a zygote also gets what
//! `/proc/self/ns/pid` links to for us, so that it can tell that it is in a process namespace of its own.
//! `node -e JAVASCRIPT -- once FD`.

/// The worker of Python programs; its parts make one program in this order.
pub(crate) const PYTHON: &str = concat!(
    include_str!("worker/python/frames.py"),
    include_str!("worker/python/tools.py"),
    include_str!("worker/python/values.py"),
    include_str!("worker/python/images.py"),
    include_str!("worker/python/program.py"),
    include_str!("worker/python/modes.py"),
);

/// The worker of JavaScript programs; likewise.
pub(crate) const JAVASCRIPT: &str = concat!(
    include_str!("worker/javascript/values.cjs"),
    include_str!("worker/javascript/realm.cjs"),
    include_str!("worker/javascript/main.cjs"),
);

/// Linux takes no single argument of 128 KiB or more.
const _: () = assert!(PYTHON.len() < 128 * 1024 && JAVASCRIPT.len() < 128 * 1024);

/// Python reads its arguments in the encoding of the locale.
const _: () = assert!(PYTHON.is_ascii() && JAVASCRIPT.is_ascii());
