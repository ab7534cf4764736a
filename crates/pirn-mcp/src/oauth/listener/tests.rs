use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use super::super::account::Account;
use super::super::callback::{Expected, Verdict};
use super::super::redirect::Redirect;
use super::super::{Clock, OAuth, OAuthOptions, OAuthServer};
use super::Listener;
use crate::config::OAuthSettings;
use crate::error::Error;
use crate::secret::Secret;

fn plan(settings: OAuthSettings) -> Result<Redirect, Error> {
    let oauth = OAuth::new(OAuthOptions {
        store: "unused".into(),
        http: crate::oauth::tests::client(),
        client_name: "Pirn".to_owned(),
        login_command: "login".to_owned(),
        clock: Clock::system(),
    });
    let server = OAuthServer {
        name: "s".to_owned(),
        url: "https://h/".parse().unwrap(),
        settings,
    };
    Redirect::plan(&Account::new(oauth.shared, server), None)
}

fn expected() -> Expected {
    Expected {
        path: "/callback".to_owned(),
        state: Secret::new("s1"),
        issuer: None,
        is_issuer_promised: false,
    }
}

/// Sends bytes and reads the answer to its end.
async fn ask(listener: &Listener, request: &str) -> String {
    let mut stream = TcpStream::connect(listener.socket.local_addr().unwrap())
        .await
        .unwrap();
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut answer = String::new();
    drop(stream.read_to_string(&mut answer).await);
    answer
}

#[tokio::test]
async fn only_the_right_answer_ends_the_wait() {
    let listener = Listener::bind(&plan(OAuthSettings::default()).unwrap())
        .await
        .unwrap();
    let large = format!("GET /callback?code={} HTTP/1.1\r\n", "x".repeat(40_000));
    let asking = async {
        for (request, status) in [
            ("GET / HTTP/1.1\r\n\r\n", "HTTP/1.1 404"),
            (
                "POST /callback?code=c&state=s1 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 404",
            ),
            (
                "GET /callback?code=c&state=s2 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 400",
            ),
            ("nonsense\r\n\r\n", ""),
            (&large, ""),
            (
                "GET /callback?code=c&state=s1 HTTP/1.1\r\n\r\n",
                "HTTP/1.1 200",
            ),
        ] {
            let answer = ask(&listener, request).await;
            assert!(answer.starts_with(status), "{request}: {answer}");
            assert_eq!(answer.is_empty(), status.is_empty(), "{request}: {answer}");
        }
    };
    let expected = expected();
    let (verdict, ()) = tokio::join!(listener.wait(&expected), asking);
    assert_eq!(verdict, Verdict::Code(Secret::new("c")));
}

#[tokio::test]
async fn silent_connections_block_nobody_and_are_dropped() {
    let listener = Listener::bind(&plan(OAuthSettings::default()).unwrap())
        .await
        .unwrap();
    let address = listener.socket.local_addr().unwrap();
    let mut silent = TcpStream::connect(address).await.unwrap();
    let asking = ask(
        &listener,
        "GET /callback?error=access_denied&state=s1 HTTP/1.1\r\n\r\n",
    );
    let expected = expected();
    let (verdict, _) = tokio::join!(listener.wait(&expected), asking);
    assert!(matches!(verdict, Verdict::Failed(_)));
    drop(listener);
    let mut rest = Vec::new();
    drop(silent.read_to_end(&mut rest).await);
    assert!(TcpStream::connect(address).await.is_err());
}

#[tokio::test]
async fn a_fixed_port_that_is_taken_is_an_error() {
    let first = Listener::bind(&plan(OAuthSettings::default()).unwrap())
        .await
        .unwrap();
    let port = first.socket.local_addr().unwrap().port();
    let fixed = OAuthSettings {
        callback_port: Some(port),
        ..OAuthSettings::default()
    };
    assert!(Listener::bind(&plan(fixed).unwrap()).await.is_err());
    assert!(
        first
            .redirect_url
            .ends_with(&format!("127.0.0.1:{port}/callback"))
    );
}
