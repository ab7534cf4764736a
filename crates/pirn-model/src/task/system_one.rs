//! System One, as its author serves it and behind Cloudflare's Workers AI.

use serde_json::{Map, Value, json};

use super::{Classification, Picture, Question, Questions, TaskModel, choice, share, unreadable};
use crate::failure::{Failure, FailureKind, error_text};
use crate::request::HttpRequest;

/// What says that the images are meant to be looked at.
const IMAGES_HEADER: (&str, &str) = ("TypeSafe-Danger-Zone-Images", "true");
/// Images of one request, where they stand in a list of their own.
const IMAGES_MAX: usize = 4;

/// The request to its author's API.
pub(super) fn request(model: &TaskModel, asked: &Classification) -> Result<HttpRequest, Failure> {
    let mut body = Map::new();
    body.insert("model".to_owned(), model.id.as_str().into());
    body.extend(input(model, asked)?);
    Ok(with_images_header(
        model,
        asked,
        model.post("/systemone", Value::Object(body)),
    ))
}

/// The request to Workers AI.
pub(super) fn cloudflare_request(
    model: &TaskModel,
    asked: &Classification,
) -> Result<HttpRequest, Failure> {
    let body = json!({ "model": model.id, "input": input(model, asked)? });
    Ok(with_images_header(model, asked, model.post("/run", body)))
}

fn input(model: &TaskModel, asked: &Classification) -> Result<Map<String, Value>, Failure> {
    let mut input = Map::new();
    input.insert("state".to_owned(), Value::Object(asked.state.clone()));
    if !asked.images.is_empty() {
        add_images(model, asked, &mut input)?;
    }
    input.insert("questions".to_owned(), questions(&asked.questions));
    Ok(input)
}

fn with_images_header(
    model: &TaskModel,
    asked: &Classification,
    mut request: HttpRequest,
) -> HttpRequest {
    let wants_header = model
        .compat
        .get("sendImageOptInHeader")
        .and_then(Value::as_bool);
    if !asked.images.is_empty() && wants_header.unwrap_or(true) {
        let (name, value) = IMAGES_HEADER;
        request.headers.push((name.to_owned(), value.to_owned()));
    }
    request
}

fn add_images(
    model: &TaskModel,
    asked: &Classification,
    input: &mut Map<String, Value>,
) -> Result<(), Failure> {
    let invalid = |message: String| Failure::new(FailureKind::Invalid, message);
    let with_state = |mut parts: Vec<Value>| {
        parts.push(Value::Object(asked.state.clone()));
        Value::Array(parts)
    };
    let way = model.compat.get("imageInput").and_then(Value::as_str);
    match way.unwrap_or("assets") {
        "assets" => {
            let mut assets = Map::new();
            let mut names = Vec::new();
            for (index, picture) in asked.images.iter().enumerate() {
                let name = format!("<image-{}>", index + 1);
                let asset = json!({
                    "type": "image",
                    "format": format(picture).map_err(invalid)?,
                    "data_base64": picture.data,
                });
                names.push(name.as_str().into());
                assets.insert(name, asset);
            }
            input.insert("assets".to_owned(), Value::Object(assets));
            input.insert("state".to_owned(), with_state(names));
        }
        "state-image-urls" => {
            let parts = asked.images.iter().map(|picture| {
                json!({ "type": "image_url", "image_url": { "url": picture.data_url() } })
            });
            input.insert("state".to_owned(), with_state(parts.collect()));
        }
        "images" => {
            if asked.images.len() > IMAGES_MAX {
                return Err(invalid(format!(
                    "{} takes {IMAGES_MAX} images at most",
                    model.id
                )));
            }
            let urls = asked.images.iter().map(Picture::data_url);
            input.insert("images".to_owned(), urls.collect());
        }
        other => {
            return Err(invalid(format!(
                "compat.imageInput of {} is \"{other}\"; it must be \"assets\", \"images\" or \"state-image-urls\"",
                model.id
            )));
        }
    }
    Ok(())
}

/// The format's name in an asset.
fn format(picture: &Picture) -> Result<&'static str, String> {
    match picture.mime_type.as_str() {
        "image/png" => Ok("png"),
        "image/jpeg" => Ok("jpeg"),
        other => Err(format!(
            "images must be PNG or JPEG here, and one is {other}"
        )),
    }
}

fn questions(questions: &Questions) -> Value {
    let shown = questions.iter().map(|(id, question)| {
        let question = match question {
            Question::Choice {
                instructions,
                labels,
            } => {
                let criteria: Map<String, Value> = labels
                    .iter()
                    .map(|(label, meaning)| (label.clone(), meaning.as_str().into()))
                    .collect();
                json!({ "type": "choice", "instructions": instructions, "criteria": criteria })
            }
            Question::Score {
                instructions,
                levels,
            } => {
                json!({ "type": "score", "instructions": instructions, "criteria": levels })
            }
            Question::Bool {
                instructions,
                if_true,
                if_false,
            } => json!({
                "type": "noul",
                "instructions": instructions,
                "criteria": { "true": if_true, "false": if_false },
            }),
        };
        (id.to_owned(), question)
    });
    Value::Object(shown.collect())
}

/// The answers in the envelope of Workers AI.
pub(super) fn cloudflare_answers(asked: &Classification, body: &Value) -> Result<Value, Failure> {
    answers(asked, unwrapped(body)?)
}

/// The answers of a body.
pub(super) fn answers(asked: &Classification, body: &Value) -> Result<Value, Failure> {
    let answers = body.get("answers").and_then(Value::as_object);
    let Some(answers) = answers else {
        return Err(Failure::new(
            FailureKind::Stream,
            "the reply holds no `answers`",
        ));
    };
    let mut read = Map::new();
    for (id, question) in asked.questions.iter() {
        let Some(answer) = answers.get(id) else {
            return Err(unreadable(id, "is missing"));
        };
        let answer = match question {
            Question::Choice { labels, .. } => {
                let label = answer.get("choice").and_then(Value::as_str);
                let label = label.filter(|label| labels.iter().any(|(known, _)| known == label));
                let probabilities = answer.get("probabilities").and_then(Value::as_object);
                match (label, probabilities, share(answer.get("confidence"))) {
                    (Some(label), Some(probabilities), Some(confidence)) => {
                        choice(label, probabilities, confidence)
                    }
                    _ => return Err(unreadable(id, "is no choice among its labels")),
                }
            }
            Question::Score { .. } => {
                let score = answer.get("score").and_then(Value::as_f64);
                match (score, share(answer.get("confidence"))) {
                    (Some(score), Some(confidence)) => {
                        json!({ "score": score, "confidence": confidence })
                    }
                    _ => return Err(unreadable(id, "is no score")),
                }
            }
            Question::Bool { .. } => match share(answer.get("noul")) {
                Some(probability) => json!({ "probability": probability }),
                None => return Err(unreadable(id, "is no probability")),
            },
        };
        read.insert(id.to_owned(), answer);
    }
    Ok(Value::Object(read))
}

/// What stands in Cloudflare's envelope.
fn unwrapped(body: &Value) -> Result<&Value, Failure> {
    if body.get("success").and_then(Value::as_bool) == Some(false) {
        let errors = body.get("errors").unwrap_or(&Value::Null);
        return Err(Failure::from_vendor(error_text(&errors.to_string())));
    }
    let result = body.get("result").unwrap_or(&Value::Null);
    match result.get("state").and_then(Value::as_str) {
        Some("Completed") => Ok(result.get("result").unwrap_or(&Value::Null)),
        Some(state) => Err(Failure::from_vendor(format!("the run ended as {state}"))),
        None => Ok(result),
    }
}
