//! A server that is about to be written down.

use std::time::Duration;

use serde_json::{Map, Value, json};

use super::{
    ClientRegistration, HttpEntry, HttpKind, McpExposure, OAuthSettings, SandboxEntry, StartMode,
    StdioEntry, Timeouts, ToolExposures, TransportEntry,
};

/// A server that is about to be written down: from a command line's options or from another program's file.
#[derive(Debug, Clone, PartialEq)]
pub struct NewServer {
    /// How it is reached.
    pub transport: TransportEntry,
    /// Whether it is to be connected.
    pub enabled: bool,
    /// Who sees its tools.
    pub exposure: McpExposure,
    /// Exposures of single tools that differ from the server's.
    pub tool_exposures: ToolExposures,
    /// How long starting and requests may take.
    pub timeouts: Timeouts,
    /// When it is started.
    pub start: StartMode,
    /// After how long without calls it is stopped.
    pub idle_timeout: Option<Duration>,
    /// One line for people, prompts and search.
    pub description: Option<String>,
}

impl NewServer {
    /// A server with the defaults.
    pub fn new(transport: TransportEntry) -> Self {
        Self {
            transport,
            enabled: true,
            exposure: McpExposure::default(),
            tool_exposures: ToolExposures::default(),
            timeouts: Timeouts::default(),
            start: StartMode::default(),
            idle_timeout: None,
            description: None,
        }
    }

    /// The entry as it stands in the file: without defaults, in the order of the table of keys. Secrets are in it as they
    /// are written.
    pub fn to_json(&self) -> Value {
        let mut entry = Map::new();
        let mut put = |key: &str, value: Value| {
            entry.insert(key.to_owned(), value);
        };
        match &self.transport {
            TransportEntry::Stdio(stdio) => put_stdio(stdio, &mut put),
            TransportEntry::Http(http) => put_http(http, &mut put),
        }
        if self.exposure != McpExposure::default() {
            put("exposure", json!(exposure_word(self.exposure)));
        }
        if !self.tool_exposures.0.is_empty() {
            put("toolExposure", tool_exposures(&self.tool_exposures));
        }
        if !self.enabled {
            put("enabled", json!(false));
        }
        if self.start == StartMode::Lazy {
            put("start", json!("lazy"));
        }
        let (limits, defaults) = (self.timeouts, Timeouts::default());
        if limits.request != defaults.request {
            put("timeout", seconds(limits.request));
        }
        if limits.start != defaults.start {
            put("startTimeout", seconds(limits.start));
        }
        // A longer request limit takes the total with it.
        if limits.total != defaults.total.max(limits.request) {
            put("totalTimeout", seconds(limits.total));
        }
        if let Some(idle) = self.idle_timeout {
            put("idleTimeout", seconds(idle));
        }
        if let Some(description) = &self.description {
            put("description", json!(description));
        }
        Value::Object(entry)
    }
}

fn put_stdio(stdio: &StdioEntry, put: &mut impl FnMut(&str, Value)) {
    put("command", json!(stdio.command));
    if !stdio.args.is_empty() {
        put("args", json!(stdio.args));
    }
    if !stdio.env.is_empty() {
        put("env", texts(&stdio.env));
    }
    if stdio.inherit_env {
        put("inheritEnv", json!(true));
    }
    if let Some(cwd) = &stdio.cwd {
        put("cwd", json!(cwd));
    }
    if let Some(confinement) = &stdio.sandbox {
        put("sandbox", sandbox(confinement));
    }
}

fn sandbox(entry: &SandboxEntry) -> Value {
    let defaults = SandboxEntry::default();
    if *entry == defaults {
        return json!(true);
    }
    let mut sandbox = Map::new();
    // Both are written: whoever reads the file need not know the defaults.
    sandbox.insert("profile".to_owned(), json!(entry.profile.as_str()));
    sandbox.insert("network".to_owned(), json!(entry.network.as_str()));
    let hosts: Vec<String> = entry
        .allowed_hosts
        .iter()
        .map(ToString::to_string)
        .collect();
    if !entry.write_roots.is_empty() {
        sandbox.insert("writeRoots".to_owned(), json!(entry.write_roots));
    }
    if let Some(roots) = &entry.read_roots {
        sandbox.insert("readRoots".to_owned(), json!(roots));
    }
    if !hosts.is_empty() {
        sandbox.insert("allowedHosts".to_owned(), json!(hosts));
    }
    Value::Object(sandbox)
}

fn put_http(http: &HttpEntry, put: &mut impl FnMut(&str, Value)) {
    match http.kind {
        HttpKind::Auto => {}
        HttpKind::Streamable => put("type", json!("http")),
        HttpKind::Sse => put("type", json!("sse")),
    }
    put("url", json!(http.url));
    if !http.headers.is_empty() {
        put("headers", texts(&http.headers));
    }
    if http.oauth != OAuthSettings::default() {
        put("oauth", oauth(&http.oauth));
    }
}

fn oauth(settings: &OAuthSettings) -> Value {
    let mut oauth = Map::new();
    let mut put = |key: &str, value: Option<Value>| {
        if let Some(value) = value {
            oauth.insert(key.to_owned(), value);
        }
    };
    let text = |text: &Option<String>| text.as_ref().map(|text| json!(text));
    put("clientId", text(&settings.client_id));
    let secret = settings.client_secret.as_ref();
    put("clientSecret", secret.map(|secret| json!(secret.expose())));
    put("scope", text(&settings.scope));
    put("clientName", text(&settings.client_name));
    put(
        "callbackPort",
        settings.callback_port.map(|port| json!(port)),
    );
    put("callbackUrl", text(&settings.callback_url));
    let registration = match settings.client_registration {
        ClientRegistration::Auto => None,
        ClientRegistration::Dynamic => Some(json!("dcr")),
        ClientRegistration::MetadataDocument => Some(json!("cimd")),
    };
    put("clientRegistration", registration);
    put("clientMetadataUrl", text(&settings.client_metadata_url));
    put(
        "authServerMetadataUrl",
        text(&settings.auth_server_metadata_url),
    );
    put("allowPrivate", settings.allow_private.then(|| json!(true)));
    Value::Object(oauth)
}

/// How an exposure is written.
pub(crate) fn exposure_word(exposure: McpExposure) -> &'static str {
    match exposure {
        McpExposure::Codemode => "codemode",
        McpExposure::Deferred => "deferred",
        McpExposure::Direct => "direct",
        McpExposure::Hidden => "hidden",
    }
}

fn tool_exposures(exposures: &ToolExposures) -> Value {
    let member =
        |(tool, exposure): &(String, McpExposure)| (tool.clone(), json!(exposure_word(*exposure)));
    Value::Object(exposures.0.iter().map(member).collect())
}

fn texts(entries: &[(String, String)]) -> Value {
    let member = |(name, value): &(String, String)| (name.clone(), json!(value));
    Value::Object(entries.iter().map(member).collect())
}

/// Whole seconds without a decimal point, as people write them.
fn seconds(duration: Duration) -> Value {
    if duration.subsec_nanos() == 0 {
        json!(duration.as_secs())
    } else {
        json!(duration.as_secs_f64())
    }
}
