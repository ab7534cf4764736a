use super::*;

#[test]
fn messages_arrive_as_they_were_sent() {
    let mut messages = PassedDescriptor::ALL
        .map(Message::PassedDescriptor)
        .to_vec();
    for stage in Stage::ALL {
        messages.push(Message::Failed(Failure {
            stage,
            step: 513,
            errno: libc::EPERM,
        }));
    }
    for (others_left, out_of_memory) in [(true, false), (false, true)] {
        messages.push(Message::Ended(Report {
            wait_status: 0x1234,
            others_left,
            out_of_memory,
        }));
    }
    for message in messages {
        assert_eq!(Message::decode(message.encode()), Some(message));
    }
    assert_eq!(Message::decode([0; MESSAGE_BYTES]), None);
    assert_eq!(Message::decode([FAILED, 0, 0, 0, 0, 0, 0, 200]), None);
    assert_eq!(Message::decode([PASSED, 200, 0, 0, 0, 0, 0, 0]), None);
}

#[test]
fn a_descriptor_travels_with_its_message() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    assert!(receive(&ours).is_none());
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    pass(
        theirs.as_raw_fd(),
        PassedDescriptor::Listener,
        listener.as_raw_fd(),
    )
    .unwrap();
    let Some((Message::PassedDescriptor(PassedDescriptor::Listener), Some(received))) =
        receive(&ours)
    else {
        panic!("no listener");
    };
    let received = std::net::TcpListener::from(received);
    assert_eq!(
        received.local_addr().unwrap(),
        listener.local_addr().unwrap()
    );
}

#[test]
fn a_failure_is_known_by_the_first_message_and_stays() {
    let (ours, theirs) = UnixStream::pair().unwrap();
    assert_eq!(failure(&ours), None);
    let wanted = Failure {
        stage: Stage::Exec,
        step: 0,
        errno: libc::ENOENT,
    };
    let ended = Message::Ended(Report {
        wait_status: 127 << 8,
        others_left: false,
        out_of_memory: false,
    });
    send(theirs.as_raw_fd(), Message::Failed(wanted));
    send(theirs.as_raw_fd(), ended);
    for _twice in 0..2 {
        assert_eq!(failure(&ours), Some(wanted));
    }
    assert!(matches!(receive(&ours), Some((Message::Failed(_), None))));
    assert_eq!(failure(&ours), None, "it ended");
}
