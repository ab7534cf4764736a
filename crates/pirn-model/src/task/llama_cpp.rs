//! Classifying with any model on llama.cpp's server: each label is one token, and the server says how probable it is next.

use serde_json::{Map, Value, json};

use super::{Classification, Question, choice};
use crate::failure::{Failure, FailureKind};

/// Signs that stand for choices, one token each.
const LABELS: &str = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
/// Signs that stand for levels, one token each.
const DIGITS: &str = "0123456789";
/// A model that thinks first is told that it has done so.
const THINK: &str = "<think>";
/// Tokens whose probabilities are asked for; the next number where a label was not among them.
const PROBABILITIES: [u64; 3] = [256, 4_096, 32_768];
/// Probabilities for each label at least.
const PROBABILITIES_PER_LABEL: u64 = 16;

/// The labels of a question with their meanings.
pub(super) fn labels(question: &Question) -> Vec<(String, &str)> {
    let numbered = |signs: &str, meanings: Vec<&'_ str>| -> Vec<String> {
        signs
            .chars()
            .take(meanings.len())
            .map(String::from)
            .collect()
    };
    match question {
        Question::Choice { labels, .. } => {
            let meanings: Vec<&str> = labels.iter().map(|(_, meaning)| meaning.as_str()).collect();
            numbered(LABELS, meanings.clone())
                .into_iter()
                .zip(meanings)
                .collect()
        }
        Question::Score { levels, .. } => {
            let meanings: Vec<&str> = levels.iter().map(String::as_str).collect();
            numbered(DIGITS, meanings.clone())
                .into_iter()
                .zip(meanings)
                .collect()
        }
        Question::Bool {
            if_true, if_false, ..
        } => {
            vec![
                ("Yes".to_owned(), if_true.as_str()),
                ("No".to_owned(), if_false.as_str()),
            ]
        }
    }
}

/// What the model is told: the state, all questions, the state again, and the question that it answers now.
pub(super) fn messages(asked: &Classification, id: &str, question: &Question) -> Value {
    let state = Value::Object(asked.state.clone()).to_string();
    let all: Vec<String> = asked
        .questions
        .iter()
        .map(|(id, question)| format!("- {id}: {}", instructions(question)))
        .collect();
    let labels: Vec<String> = labels(question)
        .into_iter()
        .map(|(label, meaning)| format!("{label}: {meaning}"))
        .collect();
    let text = format!(
        "State:\n{state}\n\nQuestions:\n{}\n\nState:\n{state}\n\nAnswer this question with one label and nothing else.\n{id}: {}\n{}",
        all.join("\n"),
        instructions(question),
        labels.join("\n"),
    );
    json!([
        { "role": "system", "content": "You answer questions about a state. Your whole answer is one label." },
        { "role": "user", "content": text },
    ])
}

fn instructions(question: &Question) -> &str {
    match question {
        Question::Choice { instructions, .. }
        | Question::Score { instructions, .. }
        | Question::Bool { instructions, .. } => instructions,
    }
}

/// The prompt as it is completed.
pub(super) fn prompt(templated: &str) -> String {
    let end = templated.trim_end();
    if end.ends_with(THINK) {
        format!("{end}\n\n</think>\n\n")
    } else {
        templated.to_owned()
    }
}

/// How many probabilities to ask for, the first number first.
pub(super) fn probability_counts(labels: usize) -> impl Iterator<Item = u64> {
    let least = u64::try_from(labels)
        .unwrap_or(u64::MAX)
        .saturating_mul(PROBABILITIES_PER_LABEL);
    PROBABILITIES.into_iter().map(move |count| count.max(least))
}

/// The tokens of a text.
pub(super) fn tokens(body: &Value) -> Result<Vec<u64>, Failure> {
    let listed = body.get("tokens").and_then(Value::as_array);
    let tokens = listed.and_then(|tokens| tokens.iter().map(Value::as_u64).collect());
    tokens.ok_or_else(|| Failure::new(FailureKind::Stream, "the server gave no tokens of a label"))
}

/// Log-probabilities of tokens by their ids, of the first token of a completion.
pub(super) fn log_probabilities(body: &Value) -> Result<Vec<(u64, f64)>, Failure> {
    let unreadable = || {
        let message = "the server gave no probabilities of the next token";
        Failure::new(FailureKind::Stream, message)
    };
    let top = body
        .pointer("/completion_probabilities/0/top_logprobs")
        .and_then(Value::as_array)
        .ok_or_else(unreadable)?;
    let pairs = top
        .iter()
        .map(|entry| Some((entry.get("id")?.as_u64()?, entry.get("logprob")?.as_f64()?)));
    pairs.collect::<Option<Vec<_>>>().ok_or_else(unreadable)
}

/// The answer that the labels' log-probabilities mean.
pub(super) fn answer(question: &Question, log_probabilities: &[f64]) -> Value {
    let shares = softmax(log_probabilities);
    let peak = shares.iter().copied().fold(0.0, f64::max);
    let confidence = confidence(shares.len(), peak);
    match question {
        Question::Choice { labels, .. } => {
            let pairs = labels.iter().zip(&shares);
            let best = pairs
                .clone()
                .max_by(|(_, one), (_, other)| one.total_cmp(other))
                .map_or("", |((label, _), _)| label);
            let probabilities: Map<String, Value> = pairs
                .map(|((label, _), share)| (label.clone(), (*share).into()))
                .collect();
            choice(best, &probabilities, confidence)
        }
        Question::Score { .. } => {
            let expected: f64 = (0_u32..)
                .zip(&shares)
                .map(|(level, share)| f64::from(level) * share)
                .sum();
            json!({ "score": expected, "confidence": confidence })
        }
        Question::Bool { .. } => json!({ "probability": shares.first().copied().unwrap_or(0.0) }),
    }
}

fn softmax(log_probabilities: &[f64]) -> Vec<f64> {
    let largest = log_probabilities
        .iter()
        .copied()
        .fold(f64::NEG_INFINITY, f64::max);
    let weights: Vec<f64> = log_probabilities
        .iter()
        .map(|log| (log - largest).exp())
        .collect();
    let sum: f64 = weights.iter().sum();
    weights.into_iter().map(|weight| weight / sum).collect()
}

/// 0 where all labels are as probable, 1 where one is certain.
fn confidence(labels: usize, peak: f64) -> f64 {
    let count = u32::try_from(labels).map_or(1.0, f64::from);
    if labels < 2 {
        return 1.0;
    }
    ((count * peak - 1.0) / (count - 1.0)).clamp(0.0, 1.0)
}
