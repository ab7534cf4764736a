//! Templates of prompts: what the user says often, with places for arguments.

use std::path::{Path, PathBuf};

use super::arguments::{fill_in, split};
use super::front_matter::Document;
use super::{entries, is_markdown};
use crate::instructions::text_of;

/// Templates that a user can choose from.
const TEMPLATES_MAX: usize = 500;
/// Characters of a first line that stands for a description.
const LINE_CHARS_MAX: usize = 60;

/// Something the user says often.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PromptTemplate {
    /// Its name, that of its file.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// What its arguments are, for people.
    pub argument_hint: Option<String>,
    /// The file that it was read from.
    pub path: PathBuf,
    body: String,
}

impl PromptTemplate {
    /// The text with these arguments in their places.
    pub(super) fn filled_in(&self, arguments: &str) -> String {
        fill_in(&self.body, &split(arguments))
    }
}

pub(super) fn find(
    single: &[PathBuf],
    folders: &[PathBuf],
    problems: &mut Vec<String>,
) -> Vec<PromptTemplate> {
    let listed = folders.iter().flat_map(|folder| entries(folder));
    let mut templates: Vec<PromptTemplate> = Vec::new();
    for path in single
        .iter()
        .cloned()
        .chain(listed.filter(|path| is_markdown(path)))
    {
        let left_out =
            |why: &str| format!("the prompt template {} is left out: {why}", path.display());
        match read(&path) {
            Err(why) => problems.push(left_out(&why)),
            Ok(template) => match templates.iter().find(|known| known.name == template.name) {
                Some(known) => problems.push(left_out(&format!(
                    "{} has the same name",
                    known.path.display()
                ))),
                None if templates.len() < TEMPLATES_MAX => templates.push(template),
                None => {}
            },
        }
    }
    templates
}

fn read(path: &Path) -> Result<PromptTemplate, String> {
    let text = text_of(path).map_err(|error| error.to_string())?;
    let document = Document::parse(&text)?;
    let name = path.file_stem().unwrap_or_default().to_string_lossy();
    Ok(PromptTemplate {
        name: name.into_owned(),
        description: document
            .get("description")
            .map_or_else(|| first_line(&document.body), str::to_owned),
        argument_hint: document.get("argument-hint").map(str::to_owned),
        path: path.to_owned(),
        body: document.body,
    })
}

fn first_line(body: &str) -> String {
    let line = body.lines().map(str::trim).find(|line| !line.is_empty());
    let line = line.unwrap_or_default();
    let mut shown: String = line.chars().take(LINE_CHARS_MAX).collect();
    if shown.len() < line.len() {
        shown.push_str("...");
    }
    shown
}
