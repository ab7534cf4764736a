//! The keys of `mcp.json`: one table for the parser, the editor and the schema.

use pirn_settings::table::{Key, Shape, find_key};

/// The servers that a key is for, by the key that they have: all of them, those with a command, those with a URL.
const ALL: Option<&str> = None;
pub(crate) const STDIO: Option<&str> = Some("command");
pub(crate) const HTTP: Option<&str> = Some("url");

pub(crate) const TYPES: &[&str] = &["stdio", "http", "streamable-http", "sse"];
/// Values of `exposure`; the last is an old name of the first.
pub(crate) const EXPOSURES: &[&str] = &[
    "codemode",
    "deferred",
    "direct",
    "hidden",
    "codemode-deferred",
];
/// Members of the values of `effects`.
pub(crate) const EFFECTS: &[&str] = &["read", "write", "process", "network"];
pub(crate) const STARTS: &[&str] = &["eager", "lazy"];
pub(crate) const REGISTRATIONS: &[&str] = &["auto", "dcr", "cimd"];
pub(crate) const PROFILES: &[&str] = &["workspace-write", "read-only"];
pub(crate) const NETWORKS: &[&str] = &["off", "allow-list", "on"];
/// What an entry may hold that changes a server written elsewhere.
pub(crate) const OVERRIDE_KEYS: &[&str] = &["enabled", "exposure", "toolExposure"];

/// The largest number of a port.
pub(crate) const PORT_MAX: u64 = 65_535;

/// An object of such values by any names.
const fn map(values: &'static Shape) -> Shape {
    Shape::Map {
        values,
        names: None,
    }
}

const fn key(
    name: &'static str,
    only_with: Option<&'static str>,
    shape: Shape,
    help: &'static str,
) -> Key {
    Key {
        name,
        only_with,
        shape,
        default: None,
        help,
    }
}

/// The same key with a default, as JSON.
const fn or(default: &'static str, key: Key) -> Key {
    Key {
        default: Some(default),
        ..key
    }
}

/// The keys of the file.
pub(crate) const FILE_KEYS: &[Key] = &[
    key(
        "$schema",
        ALL,
        Shape::Text,
        "Where this schema lies, for editors.",
    ),
    key(
        "mcpServers",
        ALL,
        Shape::Map {
            values: &Shape::Object(SERVER_KEYS),
            names: Some("^[A-Za-z0-9_-]+$"),
        },
        "The servers by name. Names that differ only in - and _ clash.",
    ),
    or(
        "true",
        key(
            "autoEnableCodemode",
            ALL,
            Shape::Flag,
            "Whether a server whose tools scripts see switches the codemode tool on. The project's value wins.",
        ),
    ),
];

/// The keys of a server, in the order in which new entries are written.
pub(crate) const SERVER_KEYS: &[Key] = &[
    key(
        "type",
        ALL,
        Shape::Choice(TYPES),
        "How the server is reached; follows from command or url. http and streamable-http exclude the fall back to sse.",
    ),
    key(
        "command",
        STDIO,
        Shape::Text,
        "One program, without a shell. ${NAME}, ${NAME:-default} and a leading ~ are filled in; $${NAME} is a literal ${NAME}.",
    ),
    or(
        "[]",
        key(
            "args",
            STDIO,
            Shape::List(&Shape::Text),
            "Its arguments. ${NAME}, ${NAME:-default} and a leading ~ are filled in; $${NAME} is a literal ${NAME}.",
        ),
    ),
    or(
        "{}",
        key(
            "env",
            STDIO,
            map(&Shape::Text),
            "Variables it gets besides a few harmless ones like PATH and HOME. Values may hold $NAME, ${NAME}, ${NAME:-default}; \
         a value that starts with ! is a shell command whose output counts.",
        ),
    ),
    or(
        "false",
        key(
            "inheritEnv",
            STDIO,
            Shape::Flag,
            "Whether it gets the whole environment of Pirn.",
        ),
    ),
    key(
        "cwd",
        STDIO,
        Shape::Text,
        "Its folder; relative to the folder of the session, which is the default.",
    ),
    or(
        "false",
        key(
            "sandbox",
            STDIO,
            Shape::FlagOrObject(SANDBOX_KEYS),
            "Confines the server's process; true stands for the defaults of its keys.",
        ),
    ),
    key(
        "url",
        HTTP,
        Shape::Text,
        "An http or https address. ${NAME} and ${NAME:-default} are filled in; $${NAME} is a literal ${NAME}.",
    ),
    or(
        "{}",
        key(
            "headers",
            HTTP,
            map(&Shape::Text),
            "Headers of every request. Values may hold $NAME, ${NAME}, ${NAME:-default}; a value that starts with ! is a shell \
         command whose output counts.",
        ),
    ),
    key("oauth", HTTP, Shape::Object(OAUTH_KEYS), "How to sign in."),
    key(
        "auth",
        HTTP,
        Shape::Object(AUTH_KEYS),
        "Signing in with the token of a model provider: not supported.",
    ),
    or(
        "\"codemode\"",
        key(
            "exposure",
            ALL,
            Shape::Choice(EXPOSURES),
            "Who sees its tools: scripts (codemode), those who search (deferred), the model (direct), nobody (hidden).",
        ),
    ),
    or(
        "{}",
        key(
            "toolExposure",
            ALL,
            map(&Shape::Choice(EXPOSURES)),
            "Exceptions by tool: a name, or a pattern with *. An exact name wins, then the first pattern that fits.",
        ),
    ),
    or(
        "{}",
        key(
            "effects",
            ALL,
            map(&Shape::Choices(EFFECTS)),
            "What its tools can do, in your own words, by tool: a name, or a pattern with *; \"*\" stands for all. Without it a tool \
         can do anything, whatever the server says. Not in a project's file.",
        ),
    ),
    or(
        "false",
        key(
            "trustAnnotations",
            ALL,
            Shape::Flag,
            "Whether what the server says of its tools (readOnlyHint, openWorldHint) is believed. Not in a project's file.",
        ),
    ),
    or(
        "true",
        key(
            "enabled",
            ALL,
            Shape::Flag,
            "false keeps the entry without connecting.",
        ),
    ),
    or(
        "false",
        key(
            "disabled",
            ALL,
            Shape::Flag,
            "Other programs' way to write enabled: false.",
        ),
    ),
    or(
        "\"eager\"",
        key(
            "start",
            ALL,
            Shape::Choice(STARTS),
            "eager starts it at once in the background, lazy when something first needs it.",
        ),
    ),
    or(
        "60",
        key(
            "timeout",
            ALL,
            Shape::Seconds,
            "Seconds that a request may take without progress.",
        ),
    ),
    or(
        "30",
        key(
            "startTimeout",
            ALL,
            Shape::Seconds,
            "Seconds that starting and the handshake may take.",
        ),
    ),
    or(
        "600",
        key(
            "totalTimeout",
            ALL,
            Shape::Seconds,
            "Seconds that a request may take in all, whatever progress it reports.",
        ),
    ),
    key(
        "idleTimeout",
        ALL,
        Shape::Seconds,
        "Seconds without calls after which it is stopped; the next call starts it again. Without it, never.",
    ),
    key(
        "description",
        ALL,
        Shape::Text,
        "One line for people, the prompt and search.",
    ),
];

/// The keys of `sandbox`.
pub(crate) const SANDBOX_KEYS: &[Key] = &[
    or(
        "\"workspace-write\"",
        key(
            "profile",
            STDIO,
            Shape::Choice(PROFILES),
            "What it may write: its folder and a private temporary one (workspace-write), or only the latter (read-only).",
        ),
    ),
    or(
        "\"on\"",
        key(
            "network",
            STDIO,
            Shape::Choice(NETWORKS),
            "What it may reach: nothing, the hosts of allowedHosts, or everything.",
        ),
    ),
    or(
        "[]",
        key(
            "writeRoots",
            STDIO,
            Shape::List(&Shape::Text),
            "Further folders and files that it may write; relative to its folder. ${NAME}, ${NAME:-default} and a leading ~ are \
         filled in.",
        ),
    ),
    key(
        "readRoots",
        STDIO,
        Shape::List(&Shape::Text),
        "With it, it may read only the system's programs, what it may write, and these. Written like writeRoots.",
    ),
    or(
        "[]",
        key(
            "allowedHosts",
            STDIO,
            Shape::List(&Shape::Text),
            "The hosts of an allow-list: a name, *. and a name for all hosts below it, an address, or *; each with or without :PORT.",
        ),
    ),
];

/// The keys of `oauth`.
pub(crate) const OAUTH_KEYS: &[Key] = &[
    key(
        "clientId",
        HTTP,
        Shape::Text,
        "A client registered beforehand.",
    ),
    key(
        "clientSecret",
        HTTP,
        Shape::Text,
        "Its secret; may hold $NAME, ${NAME}, ${NAME:-default} or be a command that starts with !.",
    ),
    key(
        "scope",
        HTTP,
        Shape::Text,
        "Scopes to ask for, separated by spaces.",
    ),
    key(
        "clientName",
        HTTP,
        Shape::Text,
        "The name that the sign-in page shows.",
    ),
    key(
        "callbackPort",
        HTTP,
        Shape::Whole {
            least: 1,
            most: PORT_MAX,
        },
        "Fixed port of the redirect's listener.",
    ),
    key(
        "callbackUrl",
        HTTP,
        Shape::Text,
        "Fixed redirect URL: http on localhost, 127.0.0.1 or [::1], without query and fragment.",
    ),
    or(
        "\"auto\"",
        key(
            "clientRegistration",
            HTTP,
            Shape::Choice(REGISTRATIONS),
            "How the client becomes known: whatever works (auto), dynamic registration (dcr), a metadata document (cimd).",
        ),
    ),
    key(
        "clientMetadataUrl",
        HTTP,
        Shape::Text,
        "Where the client's metadata document lies: https with a path.",
    ),
    key(
        "authServerMetadataUrl",
        HTTP,
        Shape::Text,
        "Metadata of the authorization server instead of discovery: https, or http on the loopback.",
    ),
    or(
        "false",
        key(
            "allowPrivate",
            HTTP,
            Shape::Flag,
            "Whether authorization servers on private addresses are accepted.",
        ),
    ),
];

/// The keys of `auth`, which is only understood well enough to refuse it.
const AUTH_KEYS: &[Key] = &[key("provider", HTTP, Shape::Text, "Not supported.")];

/// How other programs write our keys, where the spelling is far from ours.
const FOREIGN_KEYS: &[(&str, &str)] = &[
    ("environment", "env"),
    ("httpUrl", "url"),
    ("serverUrl", "url"),
    ("transport", "type"),
    ("transportType", "type"),
    ("servers", "mcpServers"),
    ("mcp", "mcpServers"),
    ("http_headers", "headers"),
    ("startup_timeout_sec", "startTimeout"),
    ("tool_timeout_sec", "timeout"),
];

/// What was probably meant by a name that is not in `keys`.
pub(crate) fn meant_by(keys: &'static [Key], name: &str) -> Option<&'static str> {
    let foreign = FOREIGN_KEYS
        .iter()
        .find(|(foreign, _)| *foreign == name)
        .and_then(|(_, ours)| find_key(keys, ours));
    if let Some(key) = foreign {
        return Some(key.name);
    }
    pirn_tool::closest(name, keys.iter().map(|key| key.name))
}
