//! Decisions, asked of `OpenAI`'s API.

use serde_json::{Map, Value, json};

use super::{Classification, Picture, Question, TaskModel, choice, share, unreadable};
use crate::failure::{Failure, FailureKind};
use crate::request::HttpRequest;

/// Images of one request.
const IMAGES_MAX: usize = 128;

/// The request for one decision.
pub(super) fn request(model: &TaskModel, asked: &Classification) -> Result<HttpRequest, Failure> {
    if asked.images.len() > IMAGES_MAX {
        let message = format!("{} takes {IMAGES_MAX} images at most", model.id);
        return Err(Failure::new(FailureKind::Invalid, message));
    }
    let state = Value::Object(asked.state.clone()).to_string();
    let input = if asked.images.is_empty() {
        Value::String(state)
    } else {
        let mut content = vec![json!({ "type": "input_text", "text": state })];
        let images = asked.images.iter().map(Picture::data_url);
        content.extend(images.map(|url| json!({ "type": "input_image", "image_url": url })));
        json!([{ "role": "user", "content": content }])
    };
    let questions: Vec<Value> = asked
        .questions
        .iter()
        .map(|(id, question)| match question {
            Question::Choice { instructions, labels } => {
                let choices: Vec<Value> = labels
                    .iter()
                    .map(|(value, description)| match description.as_str() {
                        "" => json!({ "value": value }),
                        description => json!({ "value": value, "description": description }),
                    })
                    .collect();
                json!({ "type": "choice", "name": id, "instructions": instructions, "choices": choices })
            }
            Question::Score { instructions, levels } => {
                let levels: Vec<Value> = levels.iter().map(|label| json!({ "label": label })).collect();
                json!({ "type": "score", "name": id, "instructions": instructions, "levels": levels })
            }
            Question::Bool { instructions, if_true, if_false } => {
                let instructions = format!("{instructions}\n\nTrue: {if_true}\nFalse: {if_false}");
                json!({ "type": "predicate", "name": id, "instructions": instructions })
            }
        })
        .collect();
    let body = json!({ "model": model.id, "input": input, "questions": questions });
    Ok(model.post("/decisions", body))
}

/// The answers of a body.
pub(super) fn answers(asked: &Classification, body: &Value) -> Result<Value, Failure> {
    let Some(answers) = body.get("answers").and_then(Value::as_array) else {
        return Err(Failure::new(
            FailureKind::Stream,
            "the reply holds no `answers`",
        ));
    };
    let word = |value: &Value, key: &str| value.get(key).and_then(Value::as_str).map(str::to_owned);
    let mut read = Map::new();
    for (id, question) in asked.questions.iter() {
        let named = answers
            .iter()
            .find(|answer| word(answer, "name").as_deref() == Some(id));
        let Some(answer) = named else {
            return Err(unreadable(id, "is missing"));
        };
        if word(answer, "type").as_deref() == Some("refusal") {
            let why = word(answer, "refusal").unwrap_or_default();
            let message = format!("the model refused to answer `{id}`: {why}");
            return Err(Failure::new(
                FailureKind::Refusal,
                message.trim_end_matches(": "),
            ));
        }
        let confidence = share(answer.get("confidence"));
        let answer = match question {
            Question::Choice { labels, .. } => {
                let label = word(answer, "choice");
                let label = label.filter(|label| labels.iter().any(|(known, _)| known == label));
                let listed = answer.get("probabilities").and_then(Value::as_array);
                let probabilities = listed.and_then(|listed| {
                    let pairs = listed.iter().map(|entry| {
                        Some((
                            word(entry, "value")?,
                            share(entry.get("probability"))?.into(),
                        ))
                    });
                    pairs.collect::<Option<Map<String, Value>>>()
                });
                match (label, probabilities, confidence) {
                    (Some(label), Some(probabilities), Some(confidence)) => {
                        choice(&label, &probabilities, confidence)
                    }
                    _ => return Err(unreadable(id, "is no choice among its labels")),
                }
            }
            Question::Score { .. } => {
                match (answer.get("score").and_then(Value::as_f64), confidence) {
                    (Some(score), Some(confidence)) => {
                        json!({ "score": score, "confidence": confidence })
                    }
                    _ => return Err(unreadable(id, "is no score")),
                }
            }
            Question::Bool { .. } => match share(answer.get("probability")) {
                Some(probability) => json!({ "probability": probability }),
                None => return Err(unreadable(id, "is no probability")),
            },
        };
        read.insert(id.to_owned(), answer);
    }
    Ok(Value::Object(read))
}
