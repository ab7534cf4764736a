//! Signing in against a scripted resource and authorization server on the loopback.

mod discovery;
mod peer;
mod refresh;
mod sign_in;
mod sign_out;
mod step_up;
mod world;
