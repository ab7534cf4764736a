//! Connections that are kept, and not for too long.

use std::time::Duration;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::http_client_without_certificates;

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok";

/// Reads a request; `false` where the client has closed the connection instead.
async fn read_request(stream: &mut TcpStream) -> bool {
    let mut seen = Vec::new();
    while !seen.windows(4).any(|window| window == b"\r\n\r\n") {
        let mut chunk = [0; 1024];
        match stream.read(&mut chunk).await.unwrap() {
            0 => return false,
            count => seen.extend_from_slice(&chunk[..count]),
        }
    }
    true
}

/// A server far away, which closes a connection after its third request: seen from here, just when that was sent.
async fn serve(listener: TcpListener) {
    loop {
        let (mut stream, _) = listener.accept().await.unwrap();
        for _ in 0..2 {
            if !read_request(&mut stream).await {
                break;
            }
            stream.write_all(ANSWER).await.unwrap();
        }
        read_request(&mut stream).await;
    }
}

#[tokio::test]
async fn a_connection_is_not_used_when_servers_close_it() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(serve(listener));
    let client = http_client_without_certificates("test").unwrap();
    let ask = async || client.post(&url).send().await?.text().await;
    assert_eq!(ask().await.unwrap(), "ok");
    // At once: the same connection.
    assert_eq!(ask().await.unwrap(), "ok");
    // The server's 5 s are over when this arrives.
    tokio::time::sleep(Duration::from_millis(4_500)).await; // sleeps: how long a connection lies idle is the matter
    assert_eq!(ask().await.unwrap(), "ok");
    assert_eq!(ask().await.unwrap(), "ok");
    // As it would have been without the pause.
    assert!(ask().await.is_err());
    server.abort();
}
