//! Reaches real servers: fills their entries in and opens connections.

use std::path::PathBuf;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::link::{ConnectRequest, ConnectionLink, Connector, Link};
use super::options::{ManagerOptions, Tracing};
use crate::authorization::Authorizer;
use crate::config::{ConfigEnvironment, HttpServer, Transport};
use crate::connection::{ConnectOptions, Connection, ProtocolCache};
use crate::elicitation::Elicitor;
use crate::error::Error;
use crate::oauth::{Interaction, OAuth, OAuthServer};
use crate::wire::Trace;

/// Reaches real servers. Cheap to clone.
#[derive(Clone)]
pub(super) struct ServerConnector {
    environment: ConfigEnvironment,
    protocols: ProtocolCache,
    client_name: String,
    client_version: String,
    elicitor: Option<Arc<dyn Elicitor>>,
    oauth: Option<OAuth>,
    interaction: Option<Arc<dyn Interaction>>,
    http: reqwest::Client,
    trace_folder: Option<PathBuf>,
}

impl ServerConnector {
    pub(super) fn new(options: &ManagerOptions) -> Self {
        Self {
            environment: options.environment.clone(),
            protocols: ProtocolCache::new(options.folders.protocol_cache.clone()),
            client_name: options.client_name.clone(),
            client_version: options.client_version.clone(),
            elicitor: options.elicitor.clone(),
            oauth: options.oauth.clone(),
            interaction: options.interaction.clone(),
            http: options.http.clone(),
            trace_folder: match options.tracing {
                Tracing::On => options.folders.logs.clone(),
                Tracing::Off => None,
            },
        }
    }

    async fn open(self, request: ConnectRequest) -> Result<Arc<dyn Link>, Error> {
        let server = request.entry.resolve(&self.environment).await?;
        let authorizer = match &server.transport {
            Transport::Stdio(_) => None,
            Transport::Http(http) => self.authorizer(&server.name, http),
        };
        let trace = self.trace_folder.map_or_else(Trace::off, |folder| {
            Trace::to_file(folder.join(format!("{}.trace.jsonl", server.name)))
        });
        let name = server.name.clone();
        let connection = Connection::open(ConnectOptions {
            server,
            client_name: self.client_name,
            client_version: self.client_version,
            memory: self.protocols.of(&request.entry),
            elicitor: self.elicitor,
            authorizer,
            http: self.http,
            trace,
            standard_error: request.standard_error,
        })
        .await?;
        Ok(Arc::new(ConnectionLink::new(name, connection)))
    }

    /// Who has the tokens; nobody where the configuration says what to send.
    fn authorizer(&self, name: &str, http: &HttpServer) -> Option<Arc<dyn Authorizer>> {
        let is_configured = http
            .headers
            .iter()
            .any(|(header, _)| header.eq_ignore_ascii_case("authorization"));
        let oauth = self.oauth.as_ref().filter(|_| !is_configured)?;
        let server = OAuthServer {
            name: name.to_owned(),
            url: http.url.clone(),
            settings: http.oauth.clone(),
        };
        Some(match &self.interaction {
            Some(interaction) => {
                Arc::new(oauth.interactive_authorizer(server, Arc::clone(interaction)))
            }
            None => Arc::new(oauth.authorizer(server)),
        })
    }
}

impl Connector for ServerConnector {
    fn connect(&self, request: ConnectRequest) -> BoxFuture<'static, Result<Arc<dyn Link>, Error>> {
        Box::pin(self.clone().open(request))
    }
}
