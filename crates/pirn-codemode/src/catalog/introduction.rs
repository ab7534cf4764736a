//! The fixed part of the script tool's description.

use super::{CatalogMode, CatalogOptions};

/// Every global of a script, with what it does; one line each.
const GLOBALS: [(&str, &str); 15] = [
    (
        "tools.ID(args)",
        "calls a tool; a promise. Characters that an identifier cannot have are `_` in ID; `tools[\"raw-name\"]` works too.",
    ),
    (
        "ALL_TOOLS",
        "every callable tool as `{ name, description }`.",
    ),
    (
        "searchTools(query, { limit?, namespace? })",
        "a promise of the best matches as `{ name, description }`; 8 unless told.",
    ),
    (
        "describeTool(name)",
        "a promise of a tool's description and declaration, or undefined.",
    ),
    (
        "describeNamespace(name)",
        "a promise of `{ name, description?, instructions?, tools }`, or undefined.",
    ),
    (
        "text(value)",
        "adds output: a string as it is, anything else as JSON.",
    ),
    (
        "image(value, detail?)",
        "adds an image: a base64 data URL, `{ image_url }`, or an image block from a tool.",
    ),
    (
        "audio(value)",
        "adds a sound: a base64 data URL, `{ audio_url }`, or an audio block from a tool.",
    ),
    (
        "console.log(...values)",
        "adds a console line; so do info, warn, error and debug.",
    ),
    (
        "return value",
        "adds the value like text(), unless undefined.",
    ),
    ("exit()", "ends the script at once, as a success."),
    (
        "store(key, value), load(key)",
        "keep small JSON values for later scripts of this session.",
    ),
    (
        "notify(value)",
        "sends you a message while the script goes on.",
    ),
    (
        "yield_control()",
        "hands you the output so far; the script goes on in the background.",
    ),
    (
        "setTimeout(f, ms), clearTimeout(id)",
        "one-shot timers; await them through a promise.",
    ),
];

/// The whole description: what a script is, its globals, and the catalog.
pub(super) fn render(options: &CatalogOptions, listing: Option<&str>) -> String {
    let globals: Vec<String> = GLOBALS
        .iter()
        .map(|(name, meaning)| (*name, *meaning))
        .chain(
            options
                .extra_globals
                .iter()
                .map(|(name, meaning)| (name.as_str(), meaning.as_str())),
        )
        .map(|(name, meaning)| format!("- `{name}`: {meaning}"))
        .collect();
    let mut parts = vec![PROGRAM.to_owned(), CALLS.to_owned(), OPTIONS.to_owned()];
    parts.push(match options.mode {
        CatalogMode::On => DECLARED_TOOLS.to_owned(),
        CatalogMode::Only => UNDECLARED_TOOLS.to_owned(),
    });
    parts.push(format!("Globals:\n{}", globals.join("\n")));
    parts.extend(listing.map(ToOwned::to_owned));
    parts.join("\n\n")
}

const PROGRAM: &str = "Runs a JavaScript or TypeScript program that calls tools. Use one program to batch, chain, loop over and \
filter calls; only what it outputs or returns comes back to you. Send the code alone, without JSON, quotes or a code fence. It is \
the body of an async function: top-level `await` and `return` work. Types are removed, not checked. There are no modules, files, \
processes or network but through tools.";

const CALLS: &str = "A call takes one object, is checked against the tool's schema, and resolves to what the tool's declaration \
says. A failed or denied call rejects with an Error whose message is the tool's text, with `tool`, `callId` and `kind`. Run \
independent calls with `Promise.all`; 64 run at a time. Await every call: those still running when the program ends are \
cancelled. After a failure the result lists which calls took effect.";

const OPTIONS: &str = "The first line may set options: `// @options: {\"timeout_ms\": 60000, \"yield_time_ms\": 30000, \
\"max_output_tokens\": 10000}`. A program still running after `yield_time_ms` goes on in the background, and you get its output so \
far with an id for `wait`.";

const DECLARED_TOOLS: &str = "Tools declared to you directly can be called from programs too; their descriptions say what they \
resolve to. More tools may exist than are listed: find them with `searchTools`.";

const UNDECLARED_TOOLS: &str = "Programs are the only way to call tools. More tools may exist than are listed: find them with \
`searchTools`.";
