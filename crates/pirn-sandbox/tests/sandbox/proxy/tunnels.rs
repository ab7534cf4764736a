//! Tunnels: what goes through them and how they end.

use pirn_sandbox::NetworkOptions;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpSocket};

use super::stage::{FakeUplink, PUBLIC, echo, open_tunnel, patient, read_all, read_head, start};

#[tokio::test]
async fn a_tunnel_carries_bytes_both_ways_to_the_checked_address() {
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .route(PUBLIC, 443, echo().await);
    let stage = start(&["a.net:443"], map, NetworkOptions::default());
    let mut stream = open_tunnel(&stage, "A.NET.:443").await;
    for message in ["one", "two"] {
        stream.write_all(message.as_bytes()).await.unwrap();
        let mut answer = [0; 3];
        patient(stream.read_exact(&mut answer)).await.unwrap();
        assert_eq!(answer, message.as_bytes());
    }
    drop(stream);
    assert_eq!(stage.decisions(), ["allowed a.net:443"]);
    assert_eq!(stage.map.asked(), ["a.net"]);
    assert_eq!(stage.map.connected(), ["203.0.113.5:443"]);
}

#[tokio::test]
async fn bytes_that_come_with_the_request_are_not_lost() {
    let target = echo().await;
    let rule = target.to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let mut stream = stage.connect().await;
    let request = format!("CONNECT {target} HTTP/1.1\r\n\r\nearly");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.shutdown().await.unwrap();
    read_head(&mut stream).await;
    assert_eq!(read_all(&mut stream).await, "early");
}

#[tokio::test]
async fn an_end_in_one_direction_leaves_the_other_open() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let target = listener.local_addr().unwrap().to_string();
    let stage = start(&[&target], FakeUplink::default(), NetworkOptions::default());

    // The child ends first.
    let mut child = open_tunnel(&stage, &target).await;
    let (mut server, _) = patient(listener.accept()).await.unwrap();
    child.write_all(b"question").await.unwrap();
    child.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, "question");
    server.write_all(b"answer").await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut child).await, "answer");

    // The server ends first.
    let mut child = open_tunnel(&stage, &target).await;
    let (mut server, _) = patient(listener.accept()).await.unwrap();
    server.write_all(b"greeting").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut child).await, "greeting");
    child.write_all(b"late").await.unwrap();
    drop(child);
    assert_eq!(read_all(&mut server).await, "late");
}

#[tokio::test]
async fn much_passes_through_small_buffers_in_both_directions_at_once() {
    const BYTES: usize = 8 << 20;
    let target = echo().await;
    let rule = target.to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_send_buffer_size(4096).unwrap();
    socket.set_recv_buffer_size(4096).unwrap();
    let mut stream = patient(socket.connect(stage.address)).await.unwrap();
    let request = format!("CONNECT {target} HTTP/1.1\r\n\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    read_head(&mut stream).await;
    let sent: Vec<u8> = (0..=250).cycle().take(BYTES).collect();
    let (mut read, mut write) = stream.split();
    let mut received = Vec::new();
    let (up, down) = patient(async {
        tokio::join!(
            async {
                write.write_all(&sent).await?;
                write.shutdown().await
            },
            read.read_to_end(&mut received)
        )
    })
    .await;
    up.unwrap();
    down.unwrap();
    assert!(received == sent, "{} of {BYTES} bytes", received.len());
}

#[tokio::test]
async fn two_hundred_tunnels_live_side_by_side() {
    let target = echo().await;
    let rule = target.to_string();
    let stage = start(&[&rule], FakeUplink::default(), NetworkOptions::default());
    let mut streams = Vec::new();
    for _ in 0..200 {
        streams.push(open_tunnel(&stage, &rule).await);
    }
    for (index, stream) in streams.iter_mut().enumerate() {
        stream
            .write_all(format!("{index:03}").as_bytes())
            .await
            .unwrap();
    }
    for (index, stream) in streams.iter_mut().enumerate() {
        let mut answer = [0; 3];
        patient(stream.read_exact(&mut answer)).await.unwrap();
        assert_eq!(answer, format!("{index:03}").as_bytes());
    }
}

#[tokio::test]
async fn tunnels_end_with_the_last_handle_and_with_their_child() {
    let target = echo().await.to_string();
    let stage = start(&[&target], FakeUplink::default(), NetworkOptions::default());
    let mut stream = open_tunnel(&stage, &target).await;
    stage.gone.cancel();
    assert_eq!(read_all(&mut stream).await, "");

    let stage = start(&[&target], FakeUplink::default(), NetworkOptions::default());
    let mut stream = open_tunnel(&stage, &target).await;
    let second = stage.proxy.clone();
    drop(stage.proxy);
    stream.write_all(b"still here").await.unwrap();
    let mut answer = [0; 10];
    patient(stream.read_exact(&mut answer)).await.unwrap();
    drop(second);
    assert_eq!(read_all(&mut stream).await, "");
    let refused = patient(tokio::net::TcpStream::connect(stage.address)).await;
    assert!(refused.is_err(), "nobody listens any longer");
}
