//! Whatever a confined child sends to the network proxy: nothing panics, and what is read does not depend on how the bytes
//! arrive.
//!
//! The first byte says where the bytes are cut; the rest is read as the head of an HTTP request, as SOCKS5 and as a body.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| pirn_sandbox::fuzz_proxy(bytes));
