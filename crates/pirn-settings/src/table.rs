//! What `settings.json` and `mcp.json` share: reading a file, its names and values, saying what is wrong, and the schema.

mod file;
mod names;
mod problem;
mod shape;
mod value;

pub use file::{FileError, read_file_root, read_root};
pub use names::{NameFinding, check_name};
pub use problem::{Place, Problem, Severity};
pub use shape::{Key, Shape, find_key, keys_schema};
pub(crate) use value::must_be;
pub use value::{choice, elements, filled, flag, object, seconds, text, whole};
