//! The keys of `mcp.json`: one table for the parser, the editor and the schema.

#[derive(Debug)]
pub(crate) struct Key {
    /// As it is written.
    pub(crate) name: &'static str,
    /// Which servers it is for.
    pub(crate) servers: Servers,
    /// What its value looks like.
    pub(crate) shape: Shape,
    /// The default as JSON, where there is one worth naming.
    pub(crate) default: Option<&'static str>,
    /// For the schema: one or two sentences.
    pub(crate) help: &'static str,
}

/// Which servers a key is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Servers {
    All,
    /// Those with a command.
    Stdio,
    /// Those with a URL.
    Http,
}

/// What a value looks like.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    Text,
    /// Strings in an array.
    Texts,
    /// An object of strings.
    TextMap,
    Flag,
    /// A number of seconds above 0.
    Seconds,
    Port,
    /// One of these strings.
    Choice(&'static [&'static str]),
    /// An object whose values are of these strings.
    ChoiceMap(&'static [&'static str]),
    /// An object whose values are arrays of these strings.
    ChoicesMap(&'static [&'static str]),
    /// An object of servers by name.
    Servers,
    /// An object with keys of its own.
    Object(&'static [Key]),
    /// `true`, `false`, or an object with keys of its own.
    FlagOrObject(&'static [Key]),
}

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

const fn key(name: &'static str, servers: Servers, shape: Shape, help: &'static str) -> Key {
    Key {
        name,
        servers,
        shape,
        default: None,
        help,
    }
}

impl Key {
    const fn or(mut self, default: &'static str) -> Self {
        self.default = Some(default);
        self
    }
}

/// The keys of the file.
pub(crate) const FILE_KEYS: &[Key] = &[
    key("$schema", Servers::All, Shape::Text, "Where this schema lies, for editors."),
    key(
        "mcpServers",
        Servers::All,
        Shape::Servers,
        "The servers by name. Names that differ only in - and _ clash.",
    ),
    key(
        "autoEnableCodemode",
        Servers::All,
        Shape::Flag,
        "Whether a server whose tools scripts see switches the codemode tool on. The project's value wins.",
    )
    .or("true"),
];

/// The keys of a server, in the order in which new entries are written.
pub(crate) const SERVER_KEYS: &[Key] = &[
    key(
        "type",
        Servers::All,
        Shape::Choice(TYPES),
        "How the server is reached; follows from command or url. http and streamable-http exclude the fall back to sse.",
    ),
    key(
        "command",
        Servers::Stdio,
        Shape::Text,
        "One program, without a shell. ${NAME}, ${NAME:-default} and a leading ~ are filled in; $${NAME} is a literal ${NAME}.",
    ),
    key(
        "args",
        Servers::Stdio,
        Shape::Texts,
        "Its arguments. ${NAME}, ${NAME:-default} and a leading ~ are filled in; $${NAME} is a literal ${NAME}.",
    )
    .or("[]"),
    key(
        "env",
        Servers::Stdio,
        Shape::TextMap,
        "Variables it gets besides a few harmless ones like PATH and HOME. Values may hold $NAME, ${NAME}, ${NAME:-default}; \
         a value that starts with ! is a shell command whose output counts.",
    )
    .or("{}"),
    key(
        "inheritEnv",
        Servers::Stdio,
        Shape::Flag,
        "Whether it gets the whole environment of Pirn.",
    )
    .or("false"),
    key(
        "cwd",
        Servers::Stdio,
        Shape::Text,
        "Its folder; relative to the folder of the session, which is the default.",
    ),
    key(
        "sandbox",
        Servers::Stdio,
        Shape::FlagOrObject(SANDBOX_KEYS),
        "Confines the server's process; true stands for the defaults of its keys.",
    )
    .or("false"),
    key(
        "url",
        Servers::Http,
        Shape::Text,
        "An http or https address. ${NAME} and ${NAME:-default} are filled in; $${NAME} is a literal ${NAME}.",
    ),
    key(
        "headers",
        Servers::Http,
        Shape::TextMap,
        "Headers of every request. Values may hold $NAME, ${NAME}, ${NAME:-default}; a value that starts with ! is a shell \
         command whose output counts.",
    )
    .or("{}"),
    key("oauth", Servers::Http, Shape::Object(OAUTH_KEYS), "How to sign in."),
    key(
        "auth",
        Servers::Http,
        Shape::Object(AUTH_KEYS),
        "Signing in with the token of a model provider: not supported.",
    ),
    key(
        "exposure",
        Servers::All,
        Shape::Choice(EXPOSURES),
        "Who sees its tools: scripts (codemode), those who search (deferred), the model (direct), nobody (hidden).",
    )
    .or("\"codemode\""),
    key(
        "toolExposure",
        Servers::All,
        Shape::ChoiceMap(EXPOSURES),
        "Exceptions by tool: a name, or a pattern with *. An exact name wins, then the first pattern that fits.",
    )
    .or("{}"),
    key(
        "effects",
        Servers::All,
        Shape::ChoicesMap(EFFECTS),
        "What its tools can do, in your own words, by tool: a name, or a pattern with *; \"*\" stands for all. Without it a tool \
         can do anything, whatever the server says. Not in a project's file.",
    )
    .or("{}"),
    key(
        "trustAnnotations",
        Servers::All,
        Shape::Flag,
        "Whether what the server says of its tools (readOnlyHint, openWorldHint) is believed. Not in a project's file.",
    )
    .or("false"),
    key(
        "enabled",
        Servers::All,
        Shape::Flag,
        "false keeps the entry without connecting.",
    )
    .or("true"),
    key(
        "disabled",
        Servers::All,
        Shape::Flag,
        "Other programs' way to write enabled: false.",
    )
    .or("false"),
    key(
        "start",
        Servers::All,
        Shape::Choice(STARTS),
        "eager starts it at once in the background, lazy when something first needs it.",
    )
    .or("\"eager\""),
    key(
        "timeout",
        Servers::All,
        Shape::Seconds,
        "Seconds that a request may take without progress.",
    )
    .or("60"),
    key(
        "startTimeout",
        Servers::All,
        Shape::Seconds,
        "Seconds that starting and the handshake may take.",
    )
    .or("30"),
    key(
        "totalTimeout",
        Servers::All,
        Shape::Seconds,
        "Seconds that a request may take in all, whatever progress it reports.",
    )
    .or("600"),
    key(
        "idleTimeout",
        Servers::All,
        Shape::Seconds,
        "Seconds without calls after which it is stopped; the next call starts it again. Without it, never.",
    ),
    key(
        "description",
        Servers::All,
        Shape::Text,
        "One line for people, the prompt and search.",
    ),
];

/// The keys of `sandbox`.
pub(crate) const SANDBOX_KEYS: &[Key] = &[
    key(
        "profile",
        Servers::Stdio,
        Shape::Choice(PROFILES),
        "What it may write: its folder and a private temporary one (workspace-write), or only the latter (read-only).",
    )
    .or("\"workspace-write\""),
    key(
        "network",
        Servers::Stdio,
        Shape::Choice(NETWORKS),
        "What it may reach: nothing, the hosts of allowedHosts, or everything.",
    )
    .or("\"on\""),
    key(
        "writeRoots",
        Servers::Stdio,
        Shape::Texts,
        "Further folders and files that it may write; relative to its folder. ${NAME}, ${NAME:-default} and a leading ~ are \
         filled in.",
    )
    .or("[]"),
    key(
        "readRoots",
        Servers::Stdio,
        Shape::Texts,
        "With it, it may read only the system's programs, what it may write, and these. Written like writeRoots.",
    ),
    key(
        "allowedHosts",
        Servers::Stdio,
        Shape::Texts,
        "The hosts of an allow-list: a name, *. and a name for all hosts below it, an address, or *; each with or without :PORT.",
    )
    .or("[]"),
];

/// The keys of `oauth`.
pub(crate) const OAUTH_KEYS: &[Key] = &[
    key(
        "clientId",
        Servers::Http,
        Shape::Text,
        "A client registered beforehand.",
    ),
    key(
        "clientSecret",
        Servers::Http,
        Shape::Text,
        "Its secret; may hold $NAME, ${NAME}, ${NAME:-default} or be a command that starts with !.",
    ),
    key(
        "scope",
        Servers::Http,
        Shape::Text,
        "Scopes to ask for, separated by spaces.",
    ),
    key(
        "clientName",
        Servers::Http,
        Shape::Text,
        "The name that the sign-in page shows.",
    ),
    key(
        "callbackPort",
        Servers::Http,
        Shape::Port,
        "Fixed port of the redirect's listener.",
    ),
    key(
        "callbackUrl",
        Servers::Http,
        Shape::Text,
        "Fixed redirect URL: http on localhost, 127.0.0.1 or [::1], without query and fragment.",
    ),
    key(
        "clientRegistration",
        Servers::Http,
        Shape::Choice(REGISTRATIONS),
        "How the client becomes known: whatever works (auto), dynamic registration (dcr), a metadata document (cimd).",
    )
    .or("\"auto\""),
    key(
        "clientMetadataUrl",
        Servers::Http,
        Shape::Text,
        "Where the client's metadata document lies: https with a path.",
    ),
    key(
        "authServerMetadataUrl",
        Servers::Http,
        Shape::Text,
        "Metadata of the authorization server instead of discovery: https, or http on the loopback.",
    ),
    key(
        "allowPrivate",
        Servers::Http,
        Shape::Flag,
        "Whether authorization servers on private addresses are accepted.",
    )
    .or("false"),
];

/// The keys of `auth`, which is only understood well enough to refuse it.
const AUTH_KEYS: &[Key] = &[key(
    "provider",
    Servers::Http,
    Shape::Text,
    "Not supported.",
)];

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

/// The key of this name.
pub(crate) fn find(keys: &'static [Key], name: &str) -> Option<&'static Key> {
    keys.iter().find(|key| key.name == name)
}

/// What was probably meant by a name that is not in `keys`.
pub(crate) fn meant_by(keys: &'static [Key], name: &str) -> Option<&'static str> {
    let foreign = FOREIGN_KEYS
        .iter()
        .find(|(foreign, _)| *foreign == name)
        .and_then(|(_, ours)| find(keys, ours));
    if let Some(key) = foreign {
        return Some(key.name);
    }
    pirn_tool::closest(name, keys.iter().map(|key| key.name))
}
