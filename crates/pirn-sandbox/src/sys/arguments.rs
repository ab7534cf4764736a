//! The command line of a process that is a copy of ours. It can be read by everybody who sees the process.

use std::sync::OnceLock;

/// The longest command line: what the kernel takes for all arguments by default, and more than anybody uses.
const BYTES_MAX: usize = 2 * 1024 * 1024;

/// Where our command line lies in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arguments {
    start: usize,
    length: usize,
}

impl Arguments {
    /// Where it lies; found out once. `None` where the kernel does not tell.
    pub(crate) fn ours() -> Option<Self> {
        static OURS: OnceLock<Option<Arguments>> = OnceLock::new();
        *OURS.get_or_init(|| Self::parse(&std::fs::read_to_string("/proc/self/stat").ok()?))
    }

    /// Reads `arg_start` and `arg_end`, the fields 48 and 49.
    fn parse(stat: &str) -> Option<Self> {
        // The name in front may hold anything, also parentheses; field 3 follows the last one.
        let (_name, fields) = stat.rsplit_once(')')?;
        let mut fields = fields.split_ascii_whitespace().skip(48 - 3);
        let start: usize = fields.next()?.parse().ok()?;
        let end: usize = fields.next()?.parse().ok()?;
        let length = end.checked_sub(start)?;
        (start > 0 && length > 0 && length <= BYTES_MAX).then_some(Self { start, length })
    }

    /// Empties it. Only for a process that is a copy of ours and reads its arguments no more.
    pub(super) fn wipe(self) {
        // SAFETY: the kernel laid the arguments out there, writable, for as long as the process lives; the copy has one thread,
        // and nothing in it reads them.
        unsafe {
            std::ptr::write_bytes(
                std::ptr::with_exposed_provenance_mut::<u8>(self.start),
                0,
                self.length,
            );
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_command_line() {
        let ours = Arguments::ours().unwrap();
        let text: Vec<u8> = std::env::args()
            .flat_map(|argument| [argument.into_bytes(), vec![0]].concat())
            .collect();
        assert_eq!(ours.length, text.len());
        for text in ["", "1 (a) b) S 1", "1 (a) S"] {
            assert_eq!(Arguments::parse(text), None, "{text}");
        }
    }
}
