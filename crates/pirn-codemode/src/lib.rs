//! The script contract: programs that call tools, and what comes back.

mod declarations;
mod javascript;

pub use declarations::{
    GlobalDeclaration, INPUT_TYPE_CHARS_MAX, ToolDeclaration, render_declarations, schema_to_type, tool_sample,
    tool_signature,
};
