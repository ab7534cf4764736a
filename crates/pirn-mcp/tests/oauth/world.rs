//! Servers, a file, a clock and a person.

use std::collections::VecDeque;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use futures_util::future::BoxFuture;
use pirn_mcp::{
    Authorizer, Challenge, Clock, Error, ErrorKind, Interaction, Next, OAuth, OAuthOptions,
    OAuthServer, OAuthSettings, SignInOptions, SignInResult, SignInStart,
};
use serde_json::Value;
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use crate::peer::{Behaviour, Peer};

/// Where a test happens.
pub(crate) struct World {
    pub(crate) peer: Peer,
    pub(crate) person: Arc<Person>,
    folder: TempDir,
    now_ms: Arc<AtomicU64>,
    http: reqwest::Client,
}

/// A person with a browser.
#[derive(Default)]
pub(crate) struct Person {
    /// What the person does with each page in turn; afterwards they agree.
    pub(crate) acts: Mutex<VecDeque<Act>>,
    pub(crate) refused: Mutex<Vec<String>>,
    /// Pages that were opened, for those who paste.
    pages: tokio::sync::watch::Sender<Vec<String>>,
    pastes: Mutex<VecDeque<Act>>,
}

/// What a person does with a sign-in page.
#[derive(Debug, Clone)]
pub(crate) enum Act {
    /// Agrees; the browser comes back with what the server says.
    Agree,
    /// Agrees, but the browser comes back with another state first.
    ComeBackWrong,
    Nothing,
    /// Agrees on another machine and pastes the URL.
    Paste,
    PasteText(&'static str),
}

impl World {
    pub(crate) async fn new(behaviour: Behaviour) -> Self {
        drop(rustls::crypto::ring::default_provider().install_default());
        let http = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .no_proxy()
            .build()
            .unwrap();
        Self {
            peer: Peer::start(behaviour).await,
            person: Arc::new(Person::default()),
            folder: tempfile::tempdir().unwrap(),
            now_ms: Arc::new(AtomicU64::new(1_800_000_000_000)),
            http,
        }
    }

    /// As a process of its own would have it.
    pub(crate) fn oauth(&self) -> OAuth {
        let now_ms = Arc::clone(&self.now_ms);
        OAuth::new(OAuthOptions {
            store: self.store(),
            http: self.http.clone(),
            client_name: "Pirn".to_owned(),
            login_command: "pirn mcp login".to_owned(),
            clock: Clock::from_fn(move || now_ms.load(Ordering::SeqCst)),
        })
    }

    pub(crate) fn server(&self) -> OAuthServer {
        self.server_with(OAuthSettings::default())
    }

    pub(crate) fn server_with(&self, settings: OAuthSettings) -> OAuthServer {
        OAuthServer {
            name: "git-handler".to_owned(),
            url: format!("{}/mcp", self.peer.resource).parse().unwrap(),
            settings,
        }
    }

    pub(crate) fn store(&self) -> PathBuf {
        self.folder.path().join("mcp-auth.json")
    }

    /// The only entry of the file.
    pub(crate) fn stored(&self) -> Value {
        let text = std::fs::read_to_string(self.store()).unwrap();
        let document: Value = serde_json::from_str(&text).unwrap();
        let key = format!("mcp__git-handler|{}/mcp", self.peer.resource);
        document[key].clone()
    }

    /// Changes the only entry of the file, as another program would.
    pub(crate) fn edit(&self, change: impl FnOnce(&mut Value)) {
        let mut entry = self.stored();
        change(&mut entry);
        let key = format!("mcp__git-handler|{}/mcp", self.peer.resource);
        let document = serde_json::json!({ key: entry });
        std::fs::write(self.store(), document.to_string()).unwrap();
    }

    pub(crate) fn pass(&self, seconds: u64) {
        self.now_ms.fetch_add(seconds * 1000, Ordering::SeqCst);
    }

    pub(crate) async fn login_with(&self, server: &OAuthServer) -> Result<SignInResult, Error> {
        let options = SignInOptions {
            start: SignInStart::Browser,
            ..SignInOptions::default()
        };
        self.oauth()
            .login(server, &*self.person, options, CancellationToken::new())
            .await
    }

    pub(crate) async fn login(&self) {
        self.login_with(&self.server()).await.unwrap();
    }

    /// A request to the resource, as a transport makes it.
    pub(crate) async fn call(&self, authorizer: &dyn Authorizer) -> Result<u16, Error> {
        loop {
            let token = authorizer.token().await?;
            let mut request = self
                .http
                .post(format!("{}/mcp", self.peer.resource))
                .body("{}");
            if let Some(token) = &token {
                request = request.bearer_auth(token.expose());
            }
            let response = request.send().await.unwrap();
            let status = response.status().as_u16();
            if status != 401 && status != 403 {
                return Ok(status);
            }
            let header = response.headers().get("www-authenticate");
            let challenge = Challenge {
                status,
                www_authenticate: header.map(|value| value.to_str().unwrap().to_owned()),
                token,
            };
            match authorizer.challenged(challenge).await? {
                Next::Retry => {}
                Next::GiveUp => return Ok(status),
            }
        }
    }

    /// Everything an error shows, which is no secret.
    #[track_caller]
    pub(crate) fn shown(&self, error: &Error) -> String {
        let hints = error.hints().join("; ");
        self.peer
            .assert_no_secret(&format!("{error} {hints} {error:?}"));
        format!("{error} [{hints}]")
    }

    #[track_caller]
    pub(crate) fn assert_error<T: std::fmt::Debug>(
        &self,
        result: Result<T, Error>,
        kind: &ErrorKind,
        parts: &[&str],
    ) {
        let error = result.unwrap_err();
        let shown = self.shown(&error);
        assert_eq!(error.kind(), kind, "{shown}");
        for part in parts {
            assert!(shown.contains(part), "{part} is missing: {shown}");
        }
    }
}

impl Person {
    pub(crate) fn plan(&self, acts: impl IntoIterator<Item = Act>) {
        self.acts.lock().unwrap().extend(acts);
    }

    /// Waits until a page is open.
    pub(crate) async fn sees_a_page(&self) -> String {
        let mut pages = self.pages.subscribe();
        let pages = pages.wait_for(|pages| !pages.is_empty()).await.unwrap();
        pages.last().unwrap().clone()
    }

    pub(crate) fn pages(&self) -> Vec<String> {
        self.pages.borrow().clone()
    }
}

/// Where the page sends the browser back to.
async fn way_back(page: &str) -> String {
    let client = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .no_proxy()
        .build()
        .unwrap();
    let response = client.get(page).send().await.unwrap();
    match response.headers().get("location") {
        Some(location) => location.to_str().unwrap().to_owned(),
        None => String::new(),
    }
}

impl Interaction for Person {
    fn open(&self, url: &str) {
        self.pages.send_modify(|pages| pages.push(url.to_owned()));
        let act = self.acts.lock().unwrap().pop_front().unwrap_or(Act::Agree);
        let page = url.to_owned();
        match act {
            Act::Agree | Act::ComeBackWrong => {
                tokio::spawn(async move {
                    let back = way_back(&page).await;
                    if back.is_empty() {
                        return;
                    }
                    let browser = reqwest::Client::builder().no_proxy().build().unwrap();
                    if matches!(act, Act::ComeBackWrong) {
                        let wrong = back.replace("state=", "state=x");
                        let answer = browser.get(wrong).send().await.unwrap();
                        assert_eq!(answer.status(), 400);
                    }
                    drop(browser.get(back).send().await);
                });
            }
            Act::Nothing => {}
            Act::Paste | Act::PasteText(_) => self.pastes.lock().unwrap().push_back(act),
        }
    }

    fn pasted(&self) -> BoxFuture<'_, Option<String>> {
        Box::pin(async {
            let act = self.pastes.lock().unwrap().pop_front()?;
            if let Act::PasteText(text) = act {
                // The next act is what they do when that was no good.
                let next = self.acts.lock().unwrap().pop_front();
                self.pastes.lock().unwrap().extend(next);
                Some(text.to_owned())
            } else {
                let page = self.sees_a_page().await;
                Some(way_back(&page).await)
            }
        })
    }

    fn refused(&self, why: &str) {
        self.refused.lock().unwrap().push(why.to_owned());
    }
}

/// Long enough for nothing to run into it, short enough to end a test that hangs.
pub(crate) const PATIENCE: Duration = Duration::from_secs(20);
