//! The questions that a classifier is asked.

use serde_json::{Map, Value};

/// Choices of one question: a label is one letter or digit on llama.cpp's wire.
const CHOICES_MAX: usize = 62;
/// Levels of one score.
const LEVELS_MAX: usize = 10;
/// Questions of one request: each is a request of its own on llama.cpp's wire.
const QUESTIONS_MAX: usize = 64;

/// A question about the state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Question {
    /// One of several labels.
    Choice {
        /// What the model is asked to decide.
        instructions: String,
        /// The labels with their meanings, in order.
        labels: Vec<(String, String)>,
    },
    /// A level on a scale.
    Score {
        /// What the model is asked to judge.
        instructions: String,
        /// What the levels mean, the lowest first.
        levels: Vec<String>,
    },
    /// A yes or a no.
    Bool {
        /// What the model is asked to decide.
        instructions: String,
        /// When the answer is yes.
        if_true: String,
        /// When the answer is no.
        if_false: String,
    },
}

/// Questions by their ids, in order.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Questions(Vec<(String, Question)>);

impl Questions {
    /// Reads questions as scripts write them: `{ID: {type, instructions, criteria}}`. The error says which member of which
    /// question must be what.
    pub fn parse(questions: &Map<String, Value>) -> Result<Self, String> {
        if questions.is_empty() || questions.len() > QUESTIONS_MAX {
            return Err(format!(
                "questions must hold 1 to {QUESTIONS_MAX} questions by their ids"
            ));
        }
        let parsed = questions.iter().map(|(id, question)| {
            let wrong = |problem: String| format!("questions.{id}: {problem}");
            Ok((id.clone(), Question::parse(question).map_err(wrong)?))
        });
        parsed.collect::<Result<_, _>>().map(Self)
    }

    /// The questions in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, &Question)> {
        self.0.iter().map(|(id, question)| (id.as_str(), question))
    }
}

impl Question {
    fn parse(question: &Value) -> Result<Self, String> {
        let word = |value: Option<&Value>, what: &str| {
            value
                .and_then(Value::as_str)
                .map(str::to_owned)
                .ok_or_else(|| format!("{what} must be a text"))
        };
        let instructions = word(question.get("instructions"), "instructions")?;
        let criteria = question.get("criteria");
        match question.get("type").and_then(Value::as_str) {
            Some("choice") => {
                let shape =
                    format!("criteria must hold 2 to {CHOICES_MAX} labels with their meanings");
                let labels = criteria
                    .and_then(Value::as_object)
                    .ok_or_else(|| shape.clone())?;
                if !(2..=CHOICES_MAX).contains(&labels.len()) {
                    return Err(shape);
                }
                let labels = labels.iter().map(|(label, meaning)| {
                    Ok((
                        label.clone(),
                        word(Some(meaning), &format!("criteria.{label}"))?,
                    ))
                });
                Ok(Self::Choice {
                    instructions,
                    labels: labels.collect::<Result<_, String>>()?,
                })
            }
            Some("score") => {
                let shape = format!(
                    "criteria must be a list of 2 to {LEVELS_MAX} texts, the lowest level first"
                );
                let levels = criteria
                    .and_then(Value::as_array)
                    .ok_or_else(|| shape.clone())?;
                if !(2..=LEVELS_MAX).contains(&levels.len()) {
                    return Err(shape);
                }
                let levels = levels.iter().map(|level| word(Some(level), "each level"));
                Ok(Self::Score {
                    instructions,
                    levels: levels.collect::<Result<_, _>>()?,
                })
            }
            Some("bool") => {
                let meaning = |key: &str| {
                    word(
                        criteria.and_then(|criteria| criteria.get(key)),
                        &format!("criteria.{key}"),
                    )
                };
                Ok(Self::Bool {
                    instructions,
                    if_true: meaning("true")?,
                    if_false: meaning("false")?,
                })
            }
            _ => Err("type must be \"choice\", \"score\" or \"bool\"".to_owned()),
        }
    }
}
