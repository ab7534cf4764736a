//! Whatever an MCP server writes: the frames do not depend on how the bytes arrive, nothing panics, and each request gets one
//! answer at most.
//!
//! The first byte says how large the pieces are; the rest is read as a child's output and as the body of an answer.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| pirn_mcp::fuzz_wire(bytes));
