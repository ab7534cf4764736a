//! Plain requests: what the server gets, and that it gets no other's.

use pirn_sandbox::NetworkOptions;
use tokio::io::AsyncWriteExt as _;

use super::stage::{FakeUplink, PUBLIC, Target, patient, read_all, read_head, start};

const OK: &str = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";

#[tokio::test]
async fn a_request_is_written_anew_for_its_server() {
    let target = Target::web(OK).await;
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .route(PUBLIC, 80, target.address);
    let stage = start(&["a.net"], map, NetworkOptions::default());
    let request = "GET http://a.net/x?y=1 HTTP/1.1\r\nHost: a.net\r\nProxy-Connection: keep-alive\r\n\
                   Proxy-Authorization: Basic eDp5\r\nAccept: */*\r\n\r\n";
    assert_eq!(stage.talk(request).await, OK);
    let wanted = "GET /x?y=1 HTTP/1.1\r\nHost: a.net\r\nAccept: */*\r\nConnection: close\r\n\r\n";
    assert_eq!(target.heard(), [wanted]);
    assert_eq!(stage.decisions(), ["allowed a.net:80"]);
}

#[tokio::test]
async fn a_second_request_never_reaches_the_first_host() {
    let one = Target::web(OK).await;
    let two = Target::web(OK).await;
    let map = FakeUplink::default()
        .name("one.net", &[&["203.0.113.1"]])
        .name("two.net", &[&["203.0.113.2"]])
        .route("203.0.113.1", 80, one.address)
        .route("203.0.113.2", 80, two.address);
    let stage = start(&["*"], map, NetworkOptions::default());
    for (first, sent) in [
        (
            "GET http://one.net/ HTTP/1.1\r\nHost: one.net\r\n\r\n",
            "GET / HTTP/1.1\r\nHost: one.net\r\nConnection: close\r\n\r\n",
        ),
        (
            "POST http://one.net/ HTTP/1.1\r\nContent-Length: 8\r\n\r\nabcd\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: one.net\r\nContent-Length: 8\r\nConnection: close\r\n\r\nabcd\r\n\r\n",
        ),
        (
            "POST http://one.net/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
            "POST / HTTP/1.1\r\nHost: one.net\r\nTransfer-Encoding: chunked\r\nConnection: close\r\n\r\n\
             3\r\nabc\r\n0\r\n\r\n",
        ),
    ] {
        let pipelined = format!("{first}GET http://two.net/ HTTP/1.1\r\nHost: two.net\r\n\r\n");
        assert_eq!(stage.talk(&pipelined).await, OK);
        let heard = one.heard().pop().unwrap();
        // A server may answer once it has the head; what follows is then not sent to the end.
        assert!(sent.starts_with(&heard), "{heard:?}");
        assert!(!heard.contains("two.net"), "{heard:?}");
    }
    assert_eq!(two.heard(), Vec::<String>::new());
    assert_eq!(stage.map.asked(), ["one.net"; 3]);
}

#[tokio::test]
async fn large_bodies_arrive_whole() {
    const END: &str = "the end of it\r\n";
    let target = Target::answering(END, OK).await;
    let rule = target.address.to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let body = "x".repeat(3 << 20) + END;
    let length = body.len();
    let request = format!("POST http://{rule}/ HTTP/1.1\r\nContent-Length: {length}\r\n\r\n{body}");
    assert_eq!(stage.talk(&request).await, OK);
    assert!(target.heard()[0].ends_with(&body), "the whole body");
}

#[tokio::test]
async fn a_body_may_wait_for_the_server_to_want_it() {
    let target = Target::web("HTTP/1.1 100 Continue\r\n\r\n").await;
    let rule = target.address.to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let mut stream = stage.connect().await;
    let head = format!(
        "POST http://{rule}/ HTTP/1.1\r\nExpect: 100-continue\r\nContent-Length: 4\r\n\r\n"
    );
    stream.write_all(head.as_bytes()).await.unwrap();
    let answer = read_head(&mut stream).await;
    assert_eq!(answer, "HTTP/1.1 100 Continue\r\n\r\n");
    assert!(target.heard()[0].contains("Expect: 100-continue"));
}

#[tokio::test]
async fn a_body_that_breaks_off_ends_at_the_server_too() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rule = listener.local_addr().unwrap().to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let mut stream = stage.connect().await;
    let request = format!("POST http://{rule}/ HTTP/1.1\r\nContent-Length: 10\r\n\r\nhalf");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    let (mut server, _) = patient(listener.accept()).await.unwrap();
    assert!(read_all(&mut server).await.ends_with("\r\n\r\nhalf"));
    server.write_all(b"HTTP/1.1 400 Bad\r\n\r\n").await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut stream).await, "HTTP/1.1 400 Bad\r\n\r\n");
}

#[tokio::test]
async fn a_body_in_bad_chunks_is_not_passed_on() {
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let rule = listener.local_addr().unwrap().to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let mut stream = stage.connect().await;
    let request =
        format!("POST http://{rule}/ HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n3\nabc\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    let (mut server, _) = patient(listener.accept()).await.unwrap();
    let head = read_head(&mut server).await;
    assert!(head.contains("Transfer-Encoding: chunked"), "{head}");
    assert_eq!(read_all(&mut server).await, "");
}
