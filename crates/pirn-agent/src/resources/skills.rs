//! Skills: instructions in a folder of their own, which the model reads when a task calls for them.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use super::front_matter::Document;
use super::{entries, is_markdown};
use crate::instructions::{PromptError, text_of};

/// The file that makes a folder a skill.
const SKILL_FILE: &str = "SKILL.md";
/// Skills that a model can be told of.
const SKILLS_MAX: usize = 500;
/// Folders within folders that are searched.
const DEPTH_MAX: usize = 8;
const NAME_CHARS_MAX: usize = 64;
const DESCRIPTION_CHARS_MAX: usize = 1_024;

/// Instructions for a kind of task.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Skill {
    /// What it is called in lists and by `/skill:NAME`.
    pub name: String,
    /// What it is for.
    pub description: String,
    /// The file that the instructions are read from.
    pub path: PathBuf,
    /// Whether only the user calls for it.
    pub is_for_user_only: bool,
}

impl Skill {
    /// What is said to the model where the user calls for the skill.
    pub(super) fn invocation(&self, arguments: &str) -> Result<String, PromptError> {
        let text = text_of(&self.path)?;
        let body = Document::parse(&text).map_or(text.clone(), |document| document.body);
        let folder = self.path.parent().unwrap_or(Path::new("/")).display();
        let location = escaped(&self.path.to_string_lossy());
        let mut said = format!(
            "<skill name=\"{}\" location=\"{location}\">\nPaths in this skill are relative to {folder}.\n\n{body}\n</skill>",
            escaped(&self.name)
        );
        if !arguments.is_empty() {
            // Writing to a string cannot fail.
            let _infallible = write!(said, "\n\n{arguments}");
        }
        Ok(said)
    }
}

pub(super) fn find(
    single: &[PathBuf],
    folders: &[PathBuf],
    problems: &mut Vec<String>,
) -> Vec<Skill> {
    let mut search = Search {
        skills: Vec::new(),
        files: BTreeSet::new(),
        problems,
    };
    for path in single {
        if path.is_dir() {
            search.folder(path, 0);
        } else {
            search.file(path);
        }
    }
    for folder in folders {
        search.folder(folder, 0);
    }
    search.skills
}

struct Search<'a> {
    skills: Vec<Skill>,
    /// Files that were looked at, without links.
    files: BTreeSet<PathBuf>,
    problems: &'a mut Vec<String>,
}

impl Search<'_> {
    fn folder(&mut self, folder: &Path, depth: usize) {
        let own = folder.join(SKILL_FILE);
        if own.is_file() {
            self.file(&own);
            return;
        }
        if depth > DEPTH_MAX {
            return;
        }
        for entry in entries(folder) {
            if entry.is_dir() {
                self.folder(&entry, depth + 1);
            } else if depth == 0 && is_markdown(&entry) && has_description(&entry) {
                self.file(&entry);
            }
        }
    }

    fn file(&mut self, path: &Path) {
        let real = path.canonicalize().unwrap_or_else(|_| path.to_owned());
        if !self.files.insert(real) || self.skills.len() >= SKILLS_MAX {
            return;
        }
        let skill = match read(path) {
            Ok(skill) => skill,
            Err(why) => {
                let path = path.display();
                self.problems
                    .push(format!("the skill {path} is left out: {why}"));
                return;
            }
        };
        if let Some(complaint) = complaint(&skill) {
            self.problems
                .push(format!("the skill {}: {complaint}", path.display()));
        }
        match self.skills.iter().find(|known| known.name == skill.name) {
            Some(known) => self.problems.push(format!(
                "the skill {} is left out: {} has the same name, {}",
                path.display(),
                known.path.display(),
                skill.name
            )),
            None => self.skills.push(skill),
        }
    }
}

fn has_description(path: &Path) -> bool {
    read(path).is_ok()
}

fn read(path: &Path) -> Result<Skill, String> {
    let text = text_of(path).map_err(|error| error.to_string())?;
    let document = Document::parse(&text)?;
    let description = document
        .get("description")
        .ok_or("it has no description, by which a model would choose it")?;
    let named_after = if path.file_name().is_some_and(|name| name == SKILL_FILE) {
        path.parent().and_then(Path::file_name)
    } else {
        path.file_stem()
    };
    let name = document.get("name").map(str::to_owned);
    let name = name
        .or_else(|| named_after.map(|name| name.to_string_lossy().into_owned()))
        .unwrap_or_default();
    Ok(Skill {
        name,
        description: description.to_owned(),
        path: path.to_owned(),
        is_for_user_only: document.get("disable-model-invocation") == Some("true"),
    })
}

/// What is not as it should be, though the skill can be used.
fn complaint(skill: &Skill) -> Option<String> {
    let name = &skill.name;
    let is_plain = |sign: char| sign.is_ascii_lowercase() || sign.is_ascii_digit() || sign == '-';
    let fits = !name.is_empty()
        && name.chars().count() <= NAME_CHARS_MAX
        && name.chars().all(is_plain)
        && !name.starts_with('-')
        && !name.ends_with('-')
        && !name.contains("--");
    if !fits {
        return Some(format!(
            "its name \"{name}\" should have at most {NAME_CHARS_MAX} lower-case letters, digits and single hyphens between them"
        ));
    }
    (skill.description.chars().count() > DESCRIPTION_CHARS_MAX)
        .then(|| format!("its description has more than {DESCRIPTION_CHARS_MAX} characters"))
}

pub(super) fn section(skills: &[Skill], reader: &str) -> String {
    let mut told = skills
        .iter()
        .filter(|skill| !skill.is_for_user_only)
        .peekable();
    if told.peek().is_none() {
        return String::new();
    }
    let mut text = format!(
        "These skills hold instructions for kinds of tasks.\nWhere a task fits one, read its file with `{reader}` before you begin.\n\
         Paths in a skill are relative to its folder.\n<available_skills>"
    );
    for skill in told {
        // Writing to a string cannot fail.
        let _infallible = write!(
            text,
            "\n<skill><name>{}</name><description>{}</description><location>{}</location></skill>",
            escaped(&skill.name),
            escaped(&skill.description),
            escaped(&skill.path.to_string_lossy())
        );
    }
    text.push_str("\n</available_skills>");
    text
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}
