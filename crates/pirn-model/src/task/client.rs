//! Asking models that do one thing.

use std::time::Duration;

use serde_json::{Value, json};
use tokio_util::sync::CancellationToken;

use super::{
    Classification, Question, TaskAnswer, TaskApi, TaskModel, decisions, images, llama_cpp,
    system_one, usage,
};
use crate::client::ModelClient;
use crate::failure::{Failure, FailureKind};
use crate::request::{Credential, HttpRequest};

/// Tries after the first one.
const RETRIES_MAX: u32 = 2;
/// The first wait between tries; it doubles.
const RETRY_DELAY: Duration = Duration::from_millis(500);
/// A server that wants to be left alone for longer has failed.
const RETRY_DELAY_MAX: Duration = Duration::from_mins(1);
/// An answer with several large images.
const BODY_BYTES_MAX: usize = 64 << 20;
/// What a proxy says that waited too long for a server which may still be at work.
const GATEWAY_TIMEOUT: u16 = 504;

/// Reads the answers of a body.
type Answers = fn(&Classification, &Value) -> Result<Value, Failure>;

/// Asks classifiers and image models. Cheap to clone.
#[derive(Debug, Clone)]
pub struct TaskClient {
    client: ModelClient,
}

impl TaskClient {
    /// A client that sends as `client` does.
    pub fn new(client: ModelClient) -> Self {
        Self { client }
    }

    /// Asks a classifier. A failure of the provider is part of the answer.
    pub async fn classify(
        &self,
        model: &TaskModel,
        asked: &Classification,
        credential: &Credential,
        cancel: &CancellationToken,
    ) -> TaskAnswer {
        if !asked.images.is_empty() && !model.sees_images() {
            let message = format!("{} does not look at images", model.id);
            return TaskAnswer::failed(Failure::new(FailureKind::Invalid, message));
        }
        let (request, answers): (_, Answers) = match model.api {
            TaskApi::SystemOne => (system_one::request(model, asked), system_one::answers),
            TaskApi::CloudflareSystemOne => (
                system_one::cloudflare_request(model, asked),
                system_one::cloudflare_answers,
            ),
            TaskApi::OpenAiDecisions => (decisions::request(model, asked), decisions::answers),
            TaskApi::LlamaCpp => {
                return tokio::select! {
                    biased;
                    () = cancel.cancelled() => aborted(),
                    answer = self.classify_by_tokens(model, asked, credential) => answer,
                };
            }
            TaskApi::OpenRouterImages => {
                return TaskAnswer::failed(not_for(model, "a classifier"));
            }
        };
        self.ask(model, request, credential, cancel, |body| {
            answers(asked, body)
        })
        .await
    }

    /// Asks an image model for images: content blocks in, content blocks out.
    pub async fn generate_images(
        &self,
        model: &TaskModel,
        input: &[Value],
        credential: &Credential,
        cancel: &CancellationToken,
    ) -> TaskAnswer {
        let request = match model.api {
            TaskApi::OpenRouterImages => images::request(model, input),
            TaskApi::SystemOne
            | TaskApi::CloudflareSystemOne
            | TaskApi::OpenAiDecisions
            | TaskApi::LlamaCpp => Err(not_for(model, "an image model")),
        };
        self.ask(model, request, credential, cancel, images::output)
            .await
    }

    async fn ask(
        &self,
        model: &TaskModel,
        request: Result<HttpRequest, Failure>,
        credential: &Credential,
        cancel: &CancellationToken,
        read: impl Fn(&Value) -> Result<Value, Failure>,
    ) -> TaskAnswer {
        let request = match request {
            Ok(request) => request,
            Err(failure) => return TaskAnswer::failed(failure),
        };
        let body = tokio::select! {
            biased;
            () = cancel.cancelled() => return aborted(),
            body = self.post(&request, model.api, credential) => body,
        };
        match body {
            Ok(body) => TaskAnswer {
                answer: read(&body),
                usage: usage(model, body.get("result").unwrap_or(&body)),
            },
            Err(failure) => TaskAnswer::failed(failure),
        }
    }

    /// One question after the other: the server keeps what it read of the state.
    async fn classify_by_tokens(
        &self,
        model: &TaskModel,
        asked: &Classification,
        credential: &Credential,
    ) -> TaskAnswer {
        let mut answers = serde_json::Map::new();
        for (id, question) in asked.questions.iter() {
            match self
                .answer_by_tokens(model, asked, (id, question), credential)
                .await
            {
                Ok(answer) => {
                    answers.insert(id.to_owned(), answer);
                }
                Err(failure) => return TaskAnswer::failed(failure),
            }
        }
        TaskAnswer {
            answer: Ok(Value::Object(answers)),
            usage: None,
        }
    }

    async fn answer_by_tokens(
        &self,
        model: &TaskModel,
        asked: &Classification,
        (id, question): (&str, &Question),
        credential: &Credential,
    ) -> Result<Value, Failure> {
        let post = async |path: &str, body: Value| {
            self.post(&model.post(path, body), model.api, credential)
                .await
        };
        let tokenised = async |text: String| {
            let body = post(
                "/tokenize",
                json!({ "content": text, "add_special": false }),
            )
            .await?;
            llama_cpp::tokens(&body)
        };
        let line_end = tokenised("\n".to_owned()).await?;
        let mut tokens = Vec::new();
        for (label, _) in llama_cpp::labels(question) {
            // A label begins a line, where many tokenizers write it differently than within one.
            let line = tokenised(format!("\n{label}")).await?;
            let Some([token]) = line.strip_prefix(line_end.as_slice()) else {
                let message = format!(
                    "{} writes the label `{label}` as several tokens, so it cannot classify",
                    model.id
                );
                return Err(Failure::new(FailureKind::Invalid, message));
            };
            tokens.push(*token);
        }
        let body = json!({
            "messages": llama_cpp::messages(asked, id, question),
            "chat_template_kwargs": { "enable_thinking": false },
        });
        let templated = post("/apply-template", body).await?;
        let Some(templated) = templated.get("prompt").and_then(Value::as_str) else {
            return Err(Failure::new(
                FailureKind::Stream,
                "the server gave no prompt for the messages",
            ));
        };
        let prompt = llama_cpp::prompt(templated);
        for count in llama_cpp::probability_counts(tokens.len()) {
            let body = json!({
                "prompt": prompt,
                "n_predict": 1,
                "n_probs": count,
                "post_sampling_probs": false,
                "cache_prompt": true,
                "temperature": 0,
            });
            let known = llama_cpp::log_probabilities(&post("/completion", body).await?)?;
            let of = |token: &u64| {
                known
                    .iter()
                    .find(|(id, _)| id == token)
                    .map(|(_, log)| *log)
            };
            if let Some(found) = tokens.iter().map(of).collect::<Option<Vec<f64>>>() {
                return Ok(llama_cpp::answer(question, &found));
            }
        }
        let message = format!("the server names no probability for a label of `{id}`");
        Err(Failure::new(FailureKind::Stream, message))
    }

    /// Sends a request, again where that is worth it, and reads the answer as JSON.
    async fn post(
        &self,
        request: &HttpRequest,
        api: TaskApi,
        credential: &Credential,
    ) -> Result<Value, Failure> {
        let mut delay = RETRY_DELAY;
        let mut tries_left = RETRIES_MAX;
        loop {
            let failure = match self
                .client
                .post_json(request, credential, BODY_BYTES_MAX)
                .await
            {
                Ok(body) => return Ok(body),
                Err(failure) => failure,
            };
            let is_final = !failure.kind.is_retryable()
                || (api == TaskApi::OpenAiDecisions && failure.status == Some(GATEWAY_TIMEOUT));
            let wait = failure.retry_after.unwrap_or(delay);
            if is_final || tries_left == 0 || wait > RETRY_DELAY_MAX {
                return Err(failure);
            }
            tries_left -= 1;
            tokio::time::sleep(wait).await;
            delay *= 2;
        }
    }
}

fn not_for(model: &TaskModel, what: &str) -> Failure {
    Failure::new(FailureKind::Invalid, format!("{} is not {what}", model.id))
}

fn aborted() -> TaskAnswer {
    TaskAnswer::failed(Failure::new(FailureKind::Aborted, "Request was aborted"))
}
