//! Skills and prompt templates: texts in files, which the model reads when it needs them or the user says by name.

mod arguments;
mod front_matter;
mod skills;
mod templates;

use std::path::{Path, PathBuf};

pub use skills::Skill;
pub use templates::PromptTemplate;

/// What stands before the name of a skill that the user says.
const SKILL_COMMAND: &str = "skill:";

/// Where resources are looked for. Of equal names the first place counts, and single files come before folders.
#[derive(Debug, Clone, Default)]
pub struct ResourcePlaces {
    /// Folders in which each skill has a folder or a file.
    pub skills: Vec<PathBuf>,
    /// Single skills: a `SKILL.md`, its folder, or any Markdown file.
    pub single_skills: Vec<PathBuf>,
    /// Folders in which each Markdown file is a template.
    pub templates: Vec<PathBuf>,
    /// Markdown files that are templates, wherever they lie.
    pub single_templates: Vec<PathBuf>,
}

/// The skills and templates that there are.
#[derive(Debug, Clone, Default)]
pub struct Resources {
    skills: Vec<Skill>,
    templates: Vec<PromptTemplate>,
    problems: Vec<String>,
}

/// A name that was said and means nothing.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UnknownSkill(pub String);

impl std::fmt::Display for UnknownSkill {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "there is no skill \"{}\"", self.0)
    }
}

impl std::error::Error for UnknownSkill {}

impl Resources {
    /// Reads what there is. What cannot be used is left out, and told.
    pub fn read(places: &ResourcePlaces) -> Self {
        let mut problems = Vec::new();
        let skills = skills::find(&places.single_skills, &places.skills, &mut problems);
        let templates = templates::find(&places.single_templates, &places.templates, &mut problems);
        Self {
            skills,
            templates,
            problems,
        }
    }

    /// The skills, in the order in which they were found.
    pub fn skills(&self) -> &[Skill] {
        &self.skills
    }

    /// The templates, in the order in which they were found.
    pub fn templates(&self) -> &[PromptTemplate] {
        &self.templates
    }

    /// What could not be used and why, as sentences.
    pub fn problems(&self) -> &[String] {
        &self.problems
    }

    /// The section of the system prompt about skills, for a model that reads files with the tool `reader`; empty where there are
    /// none to tell.
    pub fn skills_section(&self, reader: &str) -> String {
        skills::section(&self.skills, reader)
    }

    /// What the user means: `/skill:NAME ARGUMENTS` and `/TEMPLATE ARGUMENTS` stand for longer texts, anything else for itself.
    pub fn expand(&self, message: &str) -> Result<String, UnknownSkill> {
        let Some(command) = message.strip_prefix('/') else {
            return Ok(message.to_owned());
        };
        let (name, arguments) = match command.split_once(char::is_whitespace) {
            Some((name, arguments)) => (name, arguments.trim()),
            None => (command.trim_end(), ""),
        };
        if let Some(name) = name.strip_prefix(SKILL_COMMAND) {
            let skill = self.skills.iter().find(|skill| skill.name == name);
            return match skill.map(|skill| skill.invocation(arguments)) {
                Some(Ok(text)) => Ok(text),
                Some(Err(_)) | None => Err(UnknownSkill(name.to_owned())),
            };
        }
        let template = self.templates.iter().find(|template| template.name == name);
        Ok(match template {
            Some(template) => template.filled_in(arguments),
            None => message.to_owned(),
        })
    }
}

/// The entries of a folder by name, without those that are hidden.
fn entries(folder: &Path) -> Vec<PathBuf> {
    let listed = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let mut entries: Vec<PathBuf> = listed
        .filter(|entry| {
            let name = entry.file_name();
            let name = name.to_string_lossy();
            !name.starts_with('.') && name != "node_modules"
        })
        .map(|entry| entry.path())
        .collect();
    entries.sort();
    entries
}

fn is_markdown(path: &Path) -> bool {
    path.extension().is_some_and(|extension| extension == "md")
}

#[cfg(test)]
mod tests;
