//! JSON with comments and trailing commas, as files that people write by hand have it.
//!
//! [`parse`] gives a tree that knows its lines, for messages that name the place. [`Text`] changes one member of a text and
//! leaves every other byte as it is; [`set_value`] and [`remove_value`] do that to a file. What the values mean is the caller's.
//!
//! ```
//! use pirn_jsonc::{Change, Text, parse};
//!
//! let text = "{\n  // Why\n  \"a\": 1,\n}\n";
//! let root = parse(text)?.ok_or("empty")?;
//! assert_eq!(root.members()[0].line, 3);
//! let changed = Text::parse(text)?.changed(&[], "b", &Change::Set(true.into()));
//! assert_eq!(changed.as_deref(), Some("{\n  // Why\n  \"a\": 1,\n  \"b\": true,\n}\n"));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

#![cfg_attr(
    test,
    allow(
        clippy::disallowed_methods,
        reason = "tests prepare and inspect what they test"
    )
)]

mod edit;
mod file;
mod layout;
mod splice;
mod tree;

pub use edit::{SetError, remove_value, set_value};
pub use file::{read_bounded, read_file, replace};
pub use layout::whole;
pub use splice::{Change, Text};
pub use tree::{Member, Node, SyntaxError, Tree, parse, without_mark};
