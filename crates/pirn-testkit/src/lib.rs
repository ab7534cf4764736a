//! What tests of several crates share: servers of the Model Context Protocol that misbehave on purpose, and models that are
//! scripts ([`model_script`]).
//!
//! A server is a [`Script`]: data that says what it does about which message. Whatever the script does not mention, a
//! well-behaved server does. The same script plays over a child's pipes ([`serve_stdio`]) and over HTTP ([`FakeHttp`]), byte by
//! byte: no HTTP or protocol library stands between a test and what goes over the wire. This is no server for anything but
//! tests, and nothing of it is ever published.

#![allow(clippy::disallowed_methods, reason = "only tests use it")]

mod channel;
mod http;
mod log;
mod model;
mod play;
mod script;
mod stdio;
mod text;
mod usual;

pub use http::{FakeHttp, HttpStyle};
pub use log::{Log, Seen};
pub use model::{begun, calls, event, model_script, says};
pub use script::{Act, On, Script, Speaks, Termination};
pub use stdio::serve_stdio;
