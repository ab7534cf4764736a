//! The network proxy, with real connections on loopback. Names and public addresses lead to listeners of the tests.

mod asking;
mod forwarding;
mod limits;
mod refusals;
mod socks;
pub(crate) mod stage;
mod tunnels;
