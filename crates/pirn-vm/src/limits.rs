//! What a script may use.

use std::time::Duration;

/// Limits of one VM. The defaults are those of the script contract.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Bytes the script's heap may grow to. Beyond it allocation throws a catchable `InternalError: out of memory`.
    pub memory_bytes: u32,
    /// Bytes of stack; deeper recursion throws a catchable `RangeError`. At most [`Limits::STACK_BYTES_MAX`].
    pub stack_bytes: u32,
    /// Processor time of the script's own computing; waiting does not count.
    pub cpu: Duration,
    /// UTF-16 code units of all output together.
    pub output_characters: u32,
    /// Items of output, of any kind.
    pub output_items: u32,
    /// UTF-16 code units of one stored value as JSON.
    pub store_value_characters: u32,
    /// UTF-16 code units of all stored keys and values together.
    pub store_total_characters: u32,
}

impl Limits {
    /// The most stack a VM can have: the machine stack behind it must not run out first.
    pub const STACK_BYTES_MAX: u32 = 2 << 20;
}

impl Default for Limits {
    fn default() -> Self {
        Self {
            memory_bytes: 256 << 20,
            stack_bytes: 1 << 20,
            cpu: Duration::from_mins(1),
            output_characters: 16_777_216,
            output_items: 100_000,
            store_value_characters: 262_144,
            store_total_characters: 1_048_576,
        }
    }
}
