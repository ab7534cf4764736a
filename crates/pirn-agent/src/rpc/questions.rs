//! Questions to the person in front of the other program.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use pirn_tool::{
    Answer, ApprovalQueue, ApprovalRequest, Choice, Form, FrontEnd, Scope, Subject, Target,
};
use serde_json::{Value, json};
use tokio::time::Instant;

/// How long a person may take; then the answer is no.
const ANSWER_WAIT: Duration = Duration::from_mins(5);
/// The choice that says no to a question.
const DENY: &str = "Deny";

/// The questions that are shown.
pub(super) struct Questions {
    queue: ApprovalQueue,
    /// There once the other program shows questions.
    front_end: Option<FrontEnd>,
    open: BTreeMap<String, Open>,
    /// Questions that are still to be told.
    untold: Vec<Value>,
}

/// A question that waits for its answer.
struct Open {
    revision: u64,
    request: Arc<ApprovalRequest>,
    until: Instant,
}

impl Questions {
    pub(super) fn new(queue: ApprovalQueue) -> Self {
        Self {
            queue,
            front_end: None,
            open: BTreeMap::new(),
            untold: Vec::new(),
        }
    }

    /// From now on somebody is there.
    pub(super) fn attend(&mut self) {
        if self.front_end.is_none() {
            self.front_end = Some(self.queue.front_end());
        }
    }

    /// The next question to be told. Denies those meanwhile that nobody answered in time.
    pub(super) async fn next(&mut self) -> Value {
        loop {
            if let Some(told) = self.untold.pop() {
                return told;
            }
            let Some(front_end) = &mut self.front_end else {
                return std::future::pending().await;
            };
            let soonest = self.open.values().map(|open| open.until).min();
            let late = async {
                match soonest {
                    Some(until) => tokio::time::sleep_until(until).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                now = front_end.next() => {
                    let is_open = |id: &str| now.questions.iter().any(|request| request.id == id);
                    self.open.retain(|id, _| is_open(id));
                    for request in now.questions.iter().rev() {
                        if self.open.contains_key(&request.id) {
                            continue;
                        }
                        self.untold.push(told(request));
                        let open = Open {
                            revision: now.revision,
                            request: Arc::clone(request),
                            until: Instant::now() + ANSWER_WAIT,
                        };
                        self.open.insert(request.id.clone(), open);
                    }
                }
                () = late => {
                    let now = Instant::now();
                    let ids: Vec<String> = self
                        .open
                        .iter()
                        .filter(|(_, open)| open.until <= now)
                        .map(|(id, _)| id.clone())
                        .collect();
                    for id in ids {
                        self.settle(&id, Answer::Unanswered {
                            cause: "nobody answered for five minutes".to_owned(),
                        });
                    }
                }
            }
        }
    }

    /// Takes an answer. One to a question that is over changes nothing.
    pub(super) fn answer(&mut self, response: &Value) {
        let Some(id) = response["id"].as_str() else {
            return;
        };
        if let Some(open) = self.open.get(id) {
            let answer = answer_of(&open.request, response);
            self.settle(id, answer);
        }
    }

    fn settle(&mut self, id: &str, answer: Answer) {
        if let Some(open) = self.open.remove(id) {
            // It may have ended by itself.
            drop(self.queue.answer(open.revision, id, answer));
        }
    }
}

/// A question as the other program is told it.
fn told(request: &ApprovalRequest) -> Value {
    let timeout = u64::try_from(ANSWER_WAIT.as_millis()).unwrap_or(u64::MAX);
    let mut told = match &request.subject {
        Subject::Elicitation {
            server,
            message,
            form: Form::Values { schema },
        } => json!({
            "method": "editor",
            "title": format!("The server `{server}` asks: {message} Give a JSON object."),
            "prefill": skeleton(schema),
        }),
        Subject::Elicitation {
            server,
            message,
            form: Form::Page { url },
        } => json!({
            "method": "confirm",
            "title": format!("The server `{server}` wants you to visit a page"),
            "message": format!("{message}\n{url}"),
        }),
        Subject::Tool(_) | Subject::Program(_) | Subject::Host | Subject::Trust { .. } => {
            let mut options: Vec<String> = request.choices.iter().map(label).collect();
            options.push(DENY.to_owned());
            json!({"method": "select", "title": title(request), "options": options})
        }
    };
    told["type"] = json!("extension_ui_request");
    told["id"] = json!(request.id);
    told["timeout"] = json!(timeout);
    told["approval"] = json!(request);
    told
}

/// What is asked, in words.
fn title(request: &ApprovalRequest) -> String {
    let what = match &request.subject {
        Subject::Tool(tool) => format!("Call {} with {}?", tool.name, request.arguments),
        Subject::Program(program) => format!(
            "Run this {} program? It is {}.\n{}",
            program.language, program.confinement, program.source
        ),
        Subject::Host => match &request.target {
            Some(Target::Host { host, port }) => format!("Connect to {host} at port {port}?"),
            Some(Target::Path { .. }) | None => "Connect to a host?".to_owned(),
        },
        Subject::Trust { folder } => format!("Trust the files of {folder}?"),
        Subject::Elicitation { message, .. } => message.clone(),
    };
    if request.reason.is_empty() {
        what
    } else {
        format!("{what} ({})", request.reason)
    }
}

/// A choice in words.
fn label(choice: &Choice) -> String {
    let until = match choice.scope {
        Scope::Once => return "Allow once".to_owned(),
        Scope::Run => "until the run ends",
        Scope::Session => "for this session",
        Scope::Always => "always",
    };
    let covers = match &choice.covers {
        pirn_tool::Covers::Arguments => "this call".to_owned(),
        pirn_tool::Covers::Folder { path } => format!("calls in {}", path.display()),
        pirn_tool::Covers::Host { host, port } => format!("{host} at port {port}"),
        pirn_tool::Covers::Tool => "every call of this tool".to_owned(),
    };
    format!("Allow {covers} {until}")
}

/// An object with the members of a form, all empty.
fn skeleton(schema: &Value) -> String {
    let members = schema["properties"].as_object();
    let empty: serde_json::Map<String, Value> = members
        .into_iter()
        .flatten()
        .map(|(name, _)| (name.clone(), json!("")))
        .collect();
    serde_json::to_string_pretty(&empty).unwrap_or_default()
}

fn answer_of(request: &ApprovalRequest, response: &Value) -> Answer {
    if response["cancelled"] == true || response["confirmed"] == false {
        return Answer::deny();
    }
    if response["confirmed"] == true {
        return Answer::allow_once();
    }
    let value = response["value"].as_str().unwrap_or_default();
    if let Subject::Elicitation {
        form: Form::Values { .. },
        ..
    } = &request.subject
    {
        return match serde_json::from_str::<Value>(value) {
            Ok(values) if values.is_object() => Answer::Allow {
                choice: Choice::ONCE,
                values: Some(values),
            },
            Ok(_) | Err(_) => Answer::deny_with("the values given are no JSON object"),
        };
    }
    match request.choices.iter().find(|choice| label(choice) == value) {
        Some(choice) => Answer::allow(choice.clone()),
        None => Answer::deny(),
    }
}
