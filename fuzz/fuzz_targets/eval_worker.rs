//! Whatever a worker of `eval` writes: what is made of it does not depend on how the bytes arrive, nothing panics, no limit is
//! passed, and no result is complete without the host's token.
//!
//! The first byte says how large the pieces are; the rest is read as a worker's frames in one eval.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| pirn_eval::fuzz_worker(bytes));
