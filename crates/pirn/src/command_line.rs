//! What was typed, as the parser understands it: short ways of writing that need a look at the files that are there.

use std::ffi::OsString;
use std::path::Path;

use pirn_tool::Effects;

/// Endings of scripts that are run by their name alone.
const SCRIPT_ENDINGS: [&str; 3] = ["js", "ts", "mjs"];
/// What begins a command line for a model.
const PRINT: [&str; 2] = ["-p", "--print"];
/// What begins one that says what comes out.
const MODE: &str = "--mode";
/// The flag whose value is written after `=`.
const YES: &str = "--yes";

/// The arguments in the form that the parser knows.
pub(crate) fn normalised(arguments: impl IntoIterator<Item = OsString>) -> Vec<OsString> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    if let [_, file] = arguments.as_slice()
        && is_script(Path::new(file))
    {
        arguments.insert(1, "exec".into());
    }
    if arguments
        .get(1)
        .and_then(|first| first.to_str())
        .is_some_and(|first| PRINT.contains(&first) || first.split('=').next() == Some(MODE))
    {
        arguments.insert(1, "prompt".into());
    }
    if arguments.get(1).is_some_and(|command| command == "exec") {
        join_effects(&mut arguments);
    }
    arguments
}

/// Whether a single argument is a script that is there. Anything else is not run by its name alone.
fn is_script(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str());
    ending.is_some_and(|ending| SCRIPT_ENDINGS.contains(&ending)) && path.is_file()
}

/// `--yes process FILE` is `--yes=process FILE`, unless there is a file of that name.
fn join_effects(arguments: &mut Vec<OsString>) {
    let Some(place) = arguments.iter().position(|argument| argument == YES) else {
        return;
    };
    let effects = arguments
        .get(place + 1)
        .and_then(|word| word.to_str())
        .filter(|word| are_effects(word) && !Path::new(word).exists());
    if let Some(effects) = effects {
        let joined = format!("{YES}={effects}");
        arguments.splice(place..place + 2, [joined.into()]);
    }
}

fn are_effects(word: &str) -> bool {
    word.split(',')
        .all(|name| Effects::from_name(name).is_some())
}

#[cfg(test)]
mod tests;
