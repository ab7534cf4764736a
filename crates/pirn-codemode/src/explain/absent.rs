//! Names that scripts do not have, and what has the same here.

/// What to write instead of a global of another host.
const REPLACEMENTS: [(&[&str], &str); 14] = [
    (
        &["fetch", "XMLHttpRequest", "WebSocket"],
        "scripts have no network of their own; use a tool that has, or `await tools.bash({ command: \"curl -fsS ...\" })`",
    ),
    (
        &["require"],
        "scripts have no modules; files, commands and searches are tools, such as `await tools.read({ path })`",
    ),
    (
        &["fs", "fsPromises"],
        "read, write and search files with tools: `await tools.read({ path })`, `tools.write`, `tools.find`",
    ),
    (
        &[
            "child_process",
            "execSync",
            "exec",
            "spawn",
            "spawnSync",
            "execa",
            "$",
        ],
        "run commands with `await tools.bash({ command })`",
    ),
    (
        &["process"],
        "there is no process: read a variable with `await tools.bash({ command: \"printenv NAME\" })`, end the script with `exit()` or `return`, print with `text(value)`",
    ),
    (
        &["Buffer"],
        "use `Uint8Array`, `new TextEncoder().encode(text)`, `new TextDecoder().decode(bytes)`, `atob` and `btoa`",
    ),
    (
        &["__dirname", "__filename"],
        "a script is not a file: tools take paths relative to the working folder",
    ),
    (
        &["setInterval", "clearInterval"],
        "use a loop with `await sleep(ms)`",
    ),
    (
        &["setImmediate"],
        "use `queueMicrotask(f)` or `await sleep(0)`",
    ),
    (
        &["print", "println", "puts", "echo"],
        "show a value with `text(value)` or `console.log(value)`",
    ),
    (
        &["module", "exports"],
        "hand a value over with `return`, or keep it with `store(key, value)`",
    ),
    (
        &[
            "window",
            "document",
            "localStorage",
            "sessionStorage",
            "alert",
        ],
        "there is no browser; keep values with `store(key, value)`, show them with `text(value)`",
    ),
    (
        &["path"],
        "join paths with template strings, such as `${folder}/${name}`",
    ),
    (
        &["Deno", "Bun"],
        "files and commands are tools, such as `await tools.read({ path })` and `await tools.bash({ command })`",
    ),
];

/// Globals of scripts, for names that are nearly right.
const GLOBALS: [&str; 32] = [
    "tools",
    "ALL_TOOLS",
    "searchTools",
    "describeTool",
    "describeNamespace",
    "text",
    "image",
    "audio",
    "console",
    "exit",
    "store",
    "load",
    "notify",
    "yield_control",
    "setTimeout",
    "clearTimeout",
    "sleep",
    "parallel",
    "structuredClone",
    "AbortController",
    "URL",
    "URLSearchParams",
    "TextEncoder",
    "TextDecoder",
    "JSON",
    "Math",
    "Object",
    "Promise",
    "Array",
    "String",
    "Number",
    "crypto",
];

/// What to write instead of `name`, where it is known from elsewhere.
fn replacement(name: &str) -> Option<&'static str> {
    REPLACEMENTS
        .iter()
        .find(|(names, _)| names.contains(&name))
        .map(|(_, advice)| *advice)
}

/// The message about a name that is not defined, where there is more to say.
pub(super) fn explain(name: &str) -> Option<String> {
    if let Some(advice) = replacement(name) {
        return Some(format!("{name} is not defined: {advice}"));
    }
    let known = |tool: &str| {
        ["read", "write", "edit", "bash", "grep", "find", "ls"]
            .contains(&tool)
            .then(|| format!("tools.{tool}"))
    };
    let close = known(name)
        .or_else(|| pirn_tool::closest(name, GLOBALS.iter().copied()).map(str::to_owned))?;
    Some(format!("{name} is not defined: did you mean {close}?"))
}
