//! The HTTP client that all servers share.

use std::sync::Arc;
use std::time::Duration;

use rustls::ClientConfig;
use rustls::crypto::CryptoProvider;
use rustls_platform_verifier::BuilderVerifierExt as _;

/// Reaching a host takes longer only where it will not work.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);
/// How long an idle connection is kept. uvicorn, Node and Apache close theirs after 5 s; a request that is on its way then is
/// lost, and a call must not be sent twice. The rest of the second is for the way there and back.
const POOL_IDLE_TIMEOUT: Duration = Duration::from_secs(4);

/// Builds the client: TLS by rustls on ring with the platform's certificates, no redirects (each request decides), no cookies,
/// no proxies of the environment.
///
/// Fails where TLS cannot be set up at all. A machine without certificates is no failure: servers on it may be plain HTTP.
pub fn http_client(
    user_agent: &str,
) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    client(user_agent, tls_config()?)
}

/// A client that trusts no certificate, so that it reaches `http` only. Reading the platform's certificates takes longer than
/// starting a small script; a session whose servers are all programs can do without.
pub fn http_client_without_certificates(
    user_agent: &str,
) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()?
        .with_root_certificates(rustls::RootCertStore::empty())
        .with_no_client_auth();
    client(user_agent, config)
}

fn client(
    user_agent: &str,
    config: ClientConfig,
) -> Result<reqwest::Client, Box<dyn std::error::Error + Send + Sync>> {
    let client = reqwest::Client::builder()
        .tls_backend_preconfigured(config)
        .user_agent(user_agent)
        .redirect(reqwest::redirect::Policy::none())
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_idle_timeout(POOL_IDLE_TIMEOUT)
        .no_proxy()
        .build()?;
    Ok(client)
}

/// A configuration of its own: the process-wide default provider belongs to the program, not to a library.
fn tls_config() -> Result<ClientConfig, rustls::Error> {
    let provider: Arc<CryptoProvider> = Arc::new(rustls::crypto::ring::default_provider());
    let builder = || {
        ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_safe_default_protocol_versions()
    };
    let mut config = match builder()?.with_platform_verifier() {
        Ok(verified) => verified.with_no_client_auth(),
        // No certificates on this machine: every TLS handshake will say so.
        Err(_) => builder()?
            .with_root_certificates(rustls::RootCertStore::empty())
            .with_no_client_auth(),
    };
    // A client that brings its own configuration brings its own protocols too.
    config.alpn_protocols = vec![b"h2".to_vec(), b"http/1.1".to_vec()];
    Ok(config)
}

#[cfg(test)]
mod tests;
