//! The life cycle against scripted servers, in virtual time.

mod calls;
mod configuration;
mod eras;
mod life;
mod standard_error;
mod support;
mod tools;
mod waiting;
