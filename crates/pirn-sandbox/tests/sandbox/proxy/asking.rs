//! Hosts that somebody is asked about.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use pirn_sandbox::{NetworkAnswer, NetworkAsker, NetworkFuture, NetworkOptions};
use tokio::sync::{Semaphore, mpsc};

use super::stage::{FakeUplink, PUBLIC, Stage, Target, patient, start};

/// Somebody who answers what the test says, once the test lets it.
#[derive(Debug)]
struct ScriptedAsker {
    answer: NetworkAnswer,
    asked: Mutex<Vec<String>>,
    /// A question waits for one of these.
    leave: Semaphore,
    /// Told when a question begins to wait.
    begun: mpsc::UnboundedSender<()>,
}

impl NetworkAsker for ScriptedAsker {
    fn ask<'a>(&'a self, host: &'a str, port: u16) -> NetworkFuture<'a, NetworkAnswer> {
        self.asked.lock().unwrap().push(format!("{host}:{port}"));
        Box::pin(async move {
            let _listening = self.begun.send(());
            self.leave.acquire().await.unwrap().forget();
            self.answer
        })
    }
}

struct RecordedQuestion {
    stage: Stage,
    somebody: Arc<ScriptedAsker>,
    begun: mpsc::UnboundedReceiver<()>,
    kept: Arc<Mutex<Vec<String>>>,
    _target: Target,
}

async fn ask(answer: NetworkAnswer, leaves: usize, ask_time: Duration) -> RecordedQuestion {
    let target = Target::web("HTTP/1.1 204 No Content\r\n\r\n").await;
    let (sender, begun) = mpsc::unbounded_channel();
    let somebody = Arc::new(ScriptedAsker {
        answer,
        asked: Mutex::default(),
        leave: Semaphore::new(leaves),
        begun: sender,
    });
    let kept = Arc::new(Mutex::new(Vec::new()));
    let options = NetworkOptions {
        asker: Some(somebody.clone()),
        on_always: Some(Arc::new({
            let kept = Arc::clone(&kept);
            move |rule| kept.lock().unwrap().push(rule.to_string())
        })),
        ask_time,
        ..NetworkOptions::default()
    };
    let map = FakeUplink::default()
        .name("a.net", &[&[PUBLIC]])
        .name("inside.net", &[&["127.0.0.1"]])
        .route(PUBLIC, 80, target.address);
    RecordedQuestion {
        stage: start(&["!never.net"], map, options),
        somebody,
        begun,
        kept,
        _target: target,
    }
}

async fn status(stage: &Stage, host: &str) -> String {
    let answer = stage
        .talk(format!("GET http://{host}/ HTTP/1.1\r\n\r\n"))
        .await;
    answer.chars().skip(9).take(3).collect()
}

const LONG: Duration = Duration::from_mins(1);

#[tokio::test]
async fn answers_hold_as_long_as_they_say() {
    for (answer, statuses, questions, kept) in [
        (NetworkAnswer::Once, ["204", "204"], 2, &[][..]),
        (NetworkAnswer::Session, ["204", "204"], 1, &[]),
        (NetworkAnswer::Always, ["204", "204"], 1, &["a.net:80"]),
        (NetworkAnswer::Deny, ["403", "403"], 1, &[]),
        (NetworkAnswer::Unanswered, ["403", "403"], 2, &[]),
    ] {
        let asked = ask(answer, 10, LONG).await;
        for wanted in statuses {
            assert_eq!(status(&asked.stage, "a.net").await, wanted, "{answer:?}");
        }
        let heard = asked.somebody.asked.lock().unwrap().clone();
        assert_eq!(heard, vec!["a.net:80"; questions], "{answer:?}");
        assert_eq!(*asked.kept.lock().unwrap(), kept, "{answer:?}");
    }
}

#[tokio::test]
async fn what_was_denied_can_be_allowed_later() {
    let asked = ask(NetworkAnswer::Deny, 10, LONG).await;
    assert_eq!(status(&asked.stage, "a.net").await, "403");
    asked.stage.proxy.allow("a.net".parse().unwrap());
    assert_eq!(status(&asked.stage, "a.net").await, "204");
    let decisions = asked.stage.decisions();
    let denied = "refused a.net:80: it was denied when asked about";
    assert_eq!(decisions, [denied, "allowed a.net:80"]);
    assert_eq!(asked.stage.proxy.rules().allow, ["a.net".parse().unwrap()]);
}

#[tokio::test]
async fn requests_for_one_host_share_a_question() {
    let mut asked = ask(NetworkAnswer::Once, 0, LONG).await;
    let stage = &asked.stage;
    let (one, two, three, ()) = patient(async {
        tokio::join!(
            status(stage, "a.net"),
            status(stage, "A.net."),
            status(stage, "a.net"),
            async {
                asked.begun.recv().await;
                // The others have to arrive at the question before it is answered.
                let_arrive(stage).await;
                asked.somebody.leave.add_permits(1);
            }
        )
    })
    .await;
    assert_eq!([one, two, three], ["204"; 3]);
    assert_eq!(*asked.somebody.asked.lock().unwrap(), ["a.net:80"]);
}

/// Connections are accepted and read in the order in which they came: those that are answered now came later than the rest.
async fn let_arrive(stage: &Stage) {
    for _ in 0..10 {
        assert_eq!(status(stage, "never.net").await, "403");
    }
}

#[tokio::test]
async fn nobody_is_asked_about_what_is_decided_or_must_not_be() {
    let asked = ask(NetworkAnswer::Always, 10, LONG).await;
    for host in [
        "never.net",
        "127.0.0.1",
        "[::1]",
        "[::ffff:127.0.0.1]",
        "169.254.169.254",
        "0.0.0.0",
        "127.1",
    ] {
        assert_eq!(status(&asked.stage, host).await, "403", "{host}");
    }
    assert_eq!(*asked.somebody.asked.lock().unwrap(), Vec::<String>::new());
    // A yes about a name is no yes about wherever it leads.
    assert_eq!(status(&asked.stage, "inside.net").await, "403");
    assert_eq!(*asked.somebody.asked.lock().unwrap(), ["inside.net:80"]);
    assert_eq!(asked.stage.map.connected(), Vec::<String>::new());
}

#[tokio::test]
async fn no_answer_is_a_no_that_is_not_kept() {
    let asked = ask(NetworkAnswer::Once, 0, Duration::from_millis(50)).await;
    assert_eq!(status(&asked.stage, "a.net").await, "403");
    asked.somebody.leave.add_permits(1);
    assert_eq!(status(&asked.stage, "a.net").await, "204");
    assert_eq!(*asked.somebody.asked.lock().unwrap(), ["a.net:80"; 2]);
}

#[tokio::test]
async fn a_question_is_withdrawn_when_the_child_is_gone() {
    let mut asked = ask(NetworkAnswer::Once, 0, LONG).await;
    let stage = &asked.stage;
    patient(async {
        tokio::join!(status(stage, "a.net"), async {
            asked.begun.recv().await;
            stage.gone.cancel();
        })
    })
    .await;
    assert_eq!(stage.map.connected(), Vec::<String>::new());
}

#[tokio::test]
async fn a_proxy_answers_another_one() {
    for (answer, answers, questions) in [
        (NetworkAnswer::Once, [NetworkAnswer::Once; 2], 2),
        (NetworkAnswer::Session, [NetworkAnswer::Once; 2], 1),
        (NetworkAnswer::Always, [NetworkAnswer::Once; 2], 1),
        (NetworkAnswer::Deny, [NetworkAnswer::Deny; 2], 1),
        (NetworkAnswer::Unanswered, [NetworkAnswer::Unanswered; 2], 2),
    ] {
        let asked = ask(answer, 10, LONG).await;
        let proxy = &asked.stage.proxy;
        for wanted in answers {
            assert_eq!(proxy.ask("A.net.", 80).await, wanted, "{answer:?}");
        }
        let heard = asked.somebody.asked.lock().unwrap().clone();
        assert_eq!(heard, vec!["a.net:80"; questions], "{answer:?}");
        for refused in ["never.net", "127.0.0.1", "no host"] {
            assert_eq!(
                proxy.ask(refused, 80).await,
                NetworkAnswer::Deny,
                "{refused}"
            );
        }
        proxy.allow("b.net:80".parse().unwrap());
        assert_eq!(proxy.ask("b.net", 80).await, NetworkAnswer::Once);
        assert_eq!(asked.stage.map.connected(), Vec::<String>::new());
    }
}
