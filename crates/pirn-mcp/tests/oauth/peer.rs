//! A resource and its authorization server, each on a port of its own, that do as they are told.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use url::form_urlencoded;

/// Both servers. Dropping it ends them.
pub(crate) struct Peer {
    /// Origin of the resource, whose endpoint is `/mcp`.
    pub(crate) resource: String,
    /// Origin of the authorization server, which is its issuer.
    pub(crate) issuer: String,
    state: Arc<Mutex<State>>,
    tasks: [JoinHandle<()>; 2],
}

/// How the servers behave; tests change what they are about.
#[derive(Clone)]
#[expect(
    clippy::struct_excessive_bools,
    reason = "each is a switch of its own that a test names"
)]
pub(crate) struct Behaviour {
    /// Whether a 401 has the header `WWW-Authenticate`, and what besides `resource_metadata` it holds.
    pub(crate) challenge: Option<String>,
    /// Whether the resource has metadata, and which resource they name instead of the right one.
    pub(crate) has_resource_metadata: bool,
    pub(crate) wrong_resource: Option<String>,
    /// Fields over those of the authorization server's metadata; null removes one.
    pub(crate) metadata: Value,
    pub(crate) has_metadata: bool,
    pub(crate) registers: bool,
    /// Whether registered clients get a secret, which the token endpoint then wants.
    pub(crate) gives_secrets: bool,
    pub(crate) expires_in: Option<u64>,
    pub(crate) refresh: Refresh,
    pub(crate) iss: Option<String>,
    pub(crate) grants: Option<String>,
    /// The scope that `tools/call` wants and its refusal names.
    pub(crate) wanted_scope: Option<String>,
    /// Whether it is refused whatever the token is good for.
    pub(crate) never_content: bool,
    /// The status and body of every revocation.
    pub(crate) revocation: (u16, String),
    /// Answers of the resource metadata with this status instead.
    pub(crate) resource_metadata_status: Option<u16>,
    pub(crate) token_error: Option<(u16, String)>,
}

/// What a refresh does.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refresh {
    /// Replaces the refresh token too.
    Rotate,
    /// Says nothing about the refresh token, which stays good.
    Keep,
    /// Fails with this status and body.
    Fail(u16, &'static str),
}

impl Default for Behaviour {
    fn default() -> Self {
        Self {
            challenge: Some(String::new()),
            has_resource_metadata: true,
            wrong_resource: None,
            metadata: json!({}),
            has_metadata: true,
            registers: true,
            gives_secrets: false,
            expires_in: Some(3600),
            refresh: Refresh::Rotate,
            iss: None,
            grants: None,
            wanted_scope: None,
            never_content: false,
            revocation: (200, String::new()),
            resource_metadata_status: None,
            token_error: None,
        }
    }
}

/// A request as it came in.
#[derive(Debug, Clone)]
pub(crate) struct Seen {
    pub(crate) path: String,
    pub(crate) fields: BTreeMap<String, String>,
    pub(crate) authorization: Option<String>,
    body: String,
}

impl Seen {
    pub(crate) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(String::as_str)
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_default()
    }
}

#[derive(Default)]
struct State {
    behaviour: Behaviour,
    seen: Vec<Seen>,
    count: u32,
    /// Access tokens that are good, with their scopes.
    access: BTreeMap<String, String>,
    refresh: BTreeMap<String, String>,
    /// Codes with their challenge and scope.
    codes: BTreeMap<String, (String, String)>,
    clients: BTreeMap<String, Option<String>>,
    secrets: BTreeSet<String>,
}

impl State {
    /// A word that must never be shown.
    fn secret(&mut self, kind: &str) -> String {
        self.count += 1;
        let secret = format!("hidden-{kind}-{}", self.count);
        self.secrets.insert(secret.clone());
        secret
    }
}

struct Answer {
    status: u16,
    headers: Vec<(&'static str, String)>,
    body: String,
}

fn answer(status: u16, body: impl Into<String>) -> Answer {
    Answer {
        status,
        headers: Vec::new(),
        body: body.into(),
    }
}

impl Peer {
    pub(crate) async fn start(behaviour: Behaviour) -> Self {
        let resource_socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let issuer_socket = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = |socket: &TcpListener| format!("http://{}", socket.local_addr().unwrap());
        let (resource, issuer) = (origin(&resource_socket), origin(&issuer_socket));
        let state = Arc::new(Mutex::new(State {
            behaviour,
            ..State::default()
        }));
        let serve = |socket: TcpListener, is_resource: bool| {
            let state = Arc::clone(&state);
            let (resource, issuer) = (resource.clone(), issuer.clone());
            tokio::spawn(async move {
                loop {
                    let Ok((stream, _)) = socket.accept().await else {
                        continue;
                    };
                    let (state, resource, issuer) =
                        (Arc::clone(&state), resource.clone(), issuer.clone());
                    tokio::spawn(converse(stream, move |seen| {
                        let mut state = state.lock().unwrap();
                        state.seen.push(seen.clone());
                        if is_resource {
                            state.resource(&seen, &resource, &issuer)
                        } else {
                            state.issuer(&seen, &issuer)
                        }
                    }));
                }
            })
        };
        let tasks = [serve(resource_socket, true), serve(issuer_socket, false)];
        Self {
            resource,
            issuer,
            state,
            tasks,
        }
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Behaviour)) {
        change(&mut self.state.lock().unwrap().behaviour);
    }

    /// Ends the authorization server; its port refuses connections from now on.
    pub(crate) async fn stop_issuer(&mut self) {
        self.tasks[1].abort();
        drop((&mut self.tasks[1]).await);
    }

    /// Makes every access token one the resource refuses.
    pub(crate) fn end_access_tokens(&self) {
        self.state.lock().unwrap().access.clear();
    }

    pub(crate) fn end_refresh_tokens(&self) {
        self.state.lock().unwrap().refresh.clear();
    }

    pub(crate) fn forget_clients(&self) {
        self.state.lock().unwrap().clients.clear();
    }

    /// Makes a client known, as its owner would have done.
    pub(crate) fn know(&self, client: &str, secret: Option<&str>) {
        let mut state = self.state.lock().unwrap();
        state
            .clients
            .insert(client.to_owned(), secret.map(str::to_owned));
        state.secrets.extend(secret.map(str::to_owned));
    }

    /// Requests whose path ends like this, in order.
    pub(crate) fn seen(&self, ending: &str) -> Vec<Seen> {
        let state = self.state.lock().unwrap();
        let fits = |seen: &&Seen| seen.path.ends_with(ending);
        state.seen.iter().filter(fits).cloned().collect()
    }

    /// Requests to the token endpoint with this grant.
    pub(crate) fn grants(&self, grant: &str) -> Vec<Seen> {
        let mut seen = self.seen("/token");
        seen.retain(|seen| seen.field("grant_type") == Some(grant));
        seen
    }

    /// How many documents were fetched.
    pub(crate) fn documents(&self) -> usize {
        let state = self.state.lock().unwrap();
        let is_document = |seen: &&Seen| seen.path.contains("/.well-known/");
        state.seen.iter().filter(is_document).count()
    }

    /// Fails when a text holds anything that must not be shown.
    #[track_caller]
    pub(crate) fn assert_no_secret(&self, text: &str) {
        for secret in &self.state.lock().unwrap().secrets {
            assert!(!text.contains(secret), "{secret} is shown: {text}");
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        for task in &self.tasks {
            task.abort();
        }
    }
}

impl State {
    fn resource(&mut self, seen: &Seen, resource: &str, issuer: &str) -> Answer {
        let behaviour = self.behaviour.clone();
        if seen
            .path
            .starts_with("/.well-known/oauth-protected-resource")
        {
            if let Some(status) = behaviour.resource_metadata_status {
                return answer(status, "");
            }
            // Only the longer of the two addresses has it.
            if !behaviour.has_resource_metadata || !seen.path.ends_with("/mcp") {
                return answer(404, "");
            }
            let named = behaviour
                .wrong_resource
                .unwrap_or_else(|| format!("{resource}/mcp"));
            let metadata = json!({
                "resource": named,
                "authorization_servers": [issuer],
                "scopes_supported": ["read"],
            });
            return answer(200, metadata.to_string());
        }
        if seen.path != "/mcp" {
            // Servers before 2025-06-18 are their own authorization servers.
            return if behaviour.has_resource_metadata {
                answer(404, "")
            } else {
                self.issuer(seen, resource)
            };
        }
        let token = seen
            .authorization
            .as_deref()
            .and_then(|header| header.strip_prefix("Bearer "))
            .unwrap_or_default();
        let metadata = format!("{resource}/.well-known/oauth-protected-resource/mcp");
        let Some(scopes) = self.access.get(token) else {
            let mut refusal = answer(401, "hidden");
            if let Some(more) = behaviour.challenge {
                let header = format!("Bearer resource_metadata=\"{metadata}\"{more}");
                refusal.headers.push(("WWW-Authenticate", header));
            }
            return refusal;
        };
        match behaviour.wanted_scope {
            Some(wanted)
                if behaviour.never_content || !scopes.split(' ').any(|has| has == wanted) =>
            {
                let mut refusal = answer(403, "");
                let header = format!("Bearer error=\"insufficient_scope\", scope=\"{wanted}\"");
                refusal.headers.push(("WWW-Authenticate", header));
                refusal
            }
            Some(_) | None => answer(200, "{}"),
        }
    }

    fn issuer(&mut self, seen: &Seen, issuer: &str) -> Answer {
        match seen.path.as_str() {
            "/.well-known/oauth-authorization-server" if self.behaviour.has_metadata => {
                let mut metadata = json!({
                    "issuer": issuer,
                    "authorization_endpoint": format!("{issuer}/authorize"),
                    "token_endpoint": format!("{issuer}/token"),
                    "registration_endpoint": format!("{issuer}/register"),
                    "revocation_endpoint": format!("{issuer}/revoke"),
                    "code_challenge_methods_supported": ["S256"],
                });
                for (name, value) in self.behaviour.metadata.as_object().unwrap() {
                    metadata[name] = value.clone();
                }
                answer(200, metadata.to_string())
            }
            "/authorize" => self.authorize(seen),
            "/register" if self.behaviour.registers => self.register(seen),
            "/token" => self.token(seen),
            "/revoke" => {
                let (status, body) = self.behaviour.revocation.clone();
                answer(status, body)
            }
            _ => answer(404, "<html>no such page</html>"),
        }
    }

    fn authorize(&mut self, seen: &Seen) -> Answer {
        let field = |name: &str| seen.field(name).unwrap_or_default().to_owned();
        if !self.clients.contains_key(&field("client_id")) {
            return answer(400, "client unknown");
        }
        let code = self.secret("code");
        self.codes
            .insert(code.clone(), (field("code_challenge"), field("scope")));
        let mut query = form_urlencoded::Serializer::new(String::new());
        query
            .append_pair("code", &code)
            .append_pair("state", &field("state"));
        if let Some(iss) = &self.behaviour.iss {
            query.append_pair("iss", iss);
        }
        let mut found = answer(302, "");
        let location = format!("{}?{}", field("redirect_uri"), query.finish());
        found.headers.push(("Location", location));
        found
    }

    fn register(&mut self, seen: &Seen) -> Answer {
        self.count += 1;
        let id = format!("client-{}", self.count);
        let secret = self
            .behaviour
            .gives_secrets
            .then(|| self.secret("client-secret"));
        self.clients.insert(id.clone(), secret.clone());
        let mut client = seen.json();
        client["client_id"] = id.into();
        client["registration_access_token"] = self.secret("registration").into();
        if let Some(secret) = secret {
            client["client_secret"] = secret.into();
            client["client_secret_expires_at"] = 0.into();
            client["token_endpoint_auth_method"] = "client_secret_basic".into();
        }
        answer(201, client.to_string())
    }

    fn token(&mut self, seen: &Seen) -> Answer {
        let refuse = |error: &str| {
            // A careless server repeats what it was sent.
            let sent = seen.field("refresh_token").or(seen.field("code"));
            let description = format!("cannot use {} now", sent.unwrap_or_default());
            let refusal = json!({"error": error, "error_description": description});
            answer(400, refusal.to_string())
        };
        if let Some((status, body)) = self.behaviour.token_error.clone() {
            return answer(status, body);
        }
        let is_known = client_of(seen).is_some_and(|(id, secret)| {
            let known = self.clients.get(&id);
            known.is_some_and(|known| known.as_deref() == secret.as_deref())
        });
        if !is_known {
            return refuse("invalid_client");
        }
        let scope = match seen.field("grant_type") {
            Some("authorization_code") => {
                let Some((challenge, scope)) =
                    seen.field("code").and_then(|code| self.codes.remove(code))
                else {
                    return refuse("invalid_grant");
                };
                if challenge != challenge_of(seen.field("code_verifier").unwrap_or_default()) {
                    return refuse("invalid_grant");
                }
                scope
            }
            Some("refresh_token") => match self.behaviour.refresh {
                Refresh::Fail(status, body) => return answer(status, body),
                Refresh::Rotate | Refresh::Keep => {
                    let token = seen.field("refresh_token").unwrap_or_default();
                    let Some(scope) = self.refresh.get(token).cloned() else {
                        return refuse("invalid_grant");
                    };
                    if self.behaviour.refresh == Refresh::Rotate {
                        self.refresh.remove(token);
                    }
                    scope
                }
            },
            _ => return refuse("unsupported_grant_type"),
        };
        let scope = self.behaviour.grants.clone().unwrap_or(scope);
        let is_refresh = seen.field("grant_type") == Some("refresh_token");
        let access = self.secret("access");
        self.access.insert(access.clone(), scope.clone());
        let mut tokens = json!({"access_token": access, "token_type": "Bearer"});
        if let Some(expires_in) = self.behaviour.expires_in {
            tokens["expires_in"] = expires_in.into();
        }
        if !is_refresh || self.behaviour.refresh == Refresh::Rotate {
            let refresh = self.secret("refresh");
            self.refresh.insert(refresh.clone(), scope.clone());
            tokens["refresh_token"] = refresh.into();
        }
        if self.behaviour.grants.is_some() {
            tokens["scope"] = scope.into();
        }
        answer(200, tokens.to_string())
    }
}

/// The client of a request to the token endpoint, with its secret.
fn client_of(seen: &Seen) -> Option<(String, Option<String>)> {
    use base64::Engine as _;
    let Some(header) = &seen.authorization else {
        let id = seen.field("client_id")?.to_owned();
        return Some((id, seen.field("client_secret").map(str::to_owned)));
    };
    let encoded = header.strip_prefix("Basic ")?;
    let decoded = base64::engine::general_purpose::STANDARD
        .decode(encoded)
        .ok()?;
    let (id, secret) = String::from_utf8(decoded)
        .ok()?
        .split_once(':')
        .map(|(id, secret)| (id.to_owned(), secret.to_owned()))?;
    Some((id, Some(secret)))
}

fn challenge_of(verifier: &str) -> String {
    use base64::Engine as _;
    use sha2::Digest as _;
    base64::engine::general_purpose::URL_SAFE_NO_PAD.encode(sha2::Sha256::digest(verifier))
}

/// One request and its answer.
async fn converse(mut stream: TcpStream, respond: impl FnOnce(Seen) -> Answer + Send) {
    let Some(seen) = receive(&mut stream).await else {
        return;
    };
    let answer = respond(seen);
    let mut head = format!(
        "HTTP/1.1 {} X\r\nConnection: close\r\nContent-Length: {}\r\n",
        answer.status,
        answer.body.len()
    );
    for (name, value) in &answer.headers {
        head.extend([*name, ": ", value, "\r\n"]);
    }
    let text = format!("{head}\r\n{}", answer.body);
    drop(stream.write_all(text.as_bytes()).await);
    drop(stream.shutdown().await);
}

async fn receive(stream: &mut TcpStream) -> Option<Seen> {
    let mut bytes = Vec::new();
    let (head, body) = loop {
        let mut chunk = [0; 4096];
        let count = stream
            .read(&mut chunk)
            .await
            .ok()
            .filter(|count| *count > 0)?;
        bytes.extend_from_slice(&chunk[..count]);
        let text = String::from_utf8_lossy(&bytes).into_owned();
        let Some((head, body)) = text.split_once("\r\n\r\n") else {
            continue;
        };
        if body.len() >= header(head, "content-length").map_or(0, |text| text.parse().unwrap()) {
            break (head.to_owned(), body.to_owned());
        }
    };
    let target = head.split(' ').nth(1)?;
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let pairs = |text: &str| -> Vec<(String, String)> {
        form_urlencoded::parse(text.as_bytes())
            .into_owned()
            .collect()
    };
    let mut fields: BTreeMap<_, _> = pairs(query).into_iter().collect();
    if header(&head, "content-type").is_some_and(|kind| kind.contains("urlencoded")) {
        fields.extend(pairs(&body));
    }
    Some(Seen {
        path: path.to_owned(),
        fields,
        authorization: header(&head, "authorization"),
        body,
    })
}

fn header(head: &str, wanted: &str) -> Option<String> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        name.eq_ignore_ascii_case(wanted)
            .then(|| value.trim().to_owned())
    })
}
