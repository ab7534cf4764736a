//! The commands that begin with a slash.

/// A row of the table of commands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommandRow {
    /// What stands behind the slash.
    pub name: &'static str,
    /// What may stand behind the name.
    pub arguments: &'static str,
    /// What it does, for people.
    pub help: &'static str,
}

macro_rules! commands {
    ($($name:literal $arguments:literal $help:literal;)*) => {
        /// All commands, in the order of the reference.
        pub const COMMANDS: &[CommandRow] = &[
            $(CommandRow { name: $name, arguments: $arguments, help: $help },)*
        ];
    };
}

commands! {
    "help" "" "Show the commands and the keys";
    "model" "[NAME]" "Ask another model from here on";
    "thinking" "[LEVEL]" "Think more or less from here on";
    "new" "" "Begin a new session";
    "resume" "" "Go on with an earlier session of this folder";
    "name" "[NAME]" "Name the session";
    "session" "" "Show the session's file, tokens and cost";
    "compact" "[FOCUS]" "Make the conversation shorter now";
    "tree" "" "Go back to an earlier message; what came after stays on a branch";
    "mcp" "" "Show the MCP servers and their state";
    "tools" "" "Show the tools that programs can call";
    "tui" "[inline|fullscreen|plain]" "Show the conversation otherwise: below the shell's history, on a screen of its own, or as lines only";
    "export" "[--yes] [FILE]" "Write the conversation to an HTML page, after a list of the private things it would show";
    "copy" "" "Copy the last answer to the clipboard";
    "quit" "" "Leave";
}

/// The command that a text names, with what stands behind it.
pub(crate) fn parse(text: &str) -> Option<Result<(&'static CommandRow, &str), &str>> {
    let line = text.strip_prefix('/')?;
    let (name, arguments) = line.split_once(char::is_whitespace).unwrap_or((line, ""));
    // What looks like a path is a message.
    if name.is_empty() || name.contains('/') || text.contains('\n') {
        return None;
    }
    let row = COMMANDS.iter().find(|row| row.name == name);
    Some(row.map(|row| (row, arguments.trim())).ok_or(name))
}
