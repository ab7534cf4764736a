//! The life cycle against scripted servers, in virtual time.

mod calls;
mod configuration;
mod life;
mod processes;
mod standard_error;
mod support;
mod tools;
mod wait;
