//! The system prompt: what the model is told about its work and the project, in named sections.

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use pirn_tool::PreparedLoadout;

use crate::resources::Resources;

const PREAMBLE: &str = "\
You are Pirn, a coding agent. You work in the user's project with the tools you are given, and you do what was asked: no more, no \
less.

Look before you change something, and check what you did. A call that is denied stays denied: go on without it, and say in your answer what you could not do and which flag allows it. Answer briefly, with the \
result first.";

/// Names of files with instructions; of each folder the first one counts.
const CONTEXT_FILES: [&str; 5] = [
    "AGENTS.override.md",
    "AGENTS.md",
    "AGENTS.MD",
    "CLAUDE.md",
    "CLAUDE.MD",
];
/// A file of instructions; more would leave a model no room to work.
const CONTEXT_FILE_BYTES_MAX: u64 = 256 << 10;
/// Tools that read files, the best one first: the last one does it in a program.
const READERS: [&str; 3] = ["read", "bash", "exec"];
/// A prompt of the user's own in place of Pirn's.
const SYSTEM_FILE: &str = "SYSTEM.md";
/// What the user adds to it.
const APPEND_FILE: &str = "APPEND_SYSTEM.md";

/// Whether files with instructions count.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum ContextFiles {
    /// `AGENTS.md` and its like count.
    #[default]
    Read,
    /// They are left out of the prompt.
    LeftOut,
}

/// The parts of the system prompt that stay the same for a whole run.
#[derive(Debug, Clone, Default)]
pub struct Prompt {
    /// What stands in place of Pirn's own words.
    pub preamble: Option<String>,
    /// What is added to them.
    pub addenda: Vec<String>,
    /// Instructions of the user and of the project, as the model reads them.
    pub project_context: String,
    /// Skills that the model is told of.
    pub resources: Resources,
    /// The folder that is worked in.
    pub cwd: PathBuf,
}

/// A file of instructions that cannot be read.
#[derive(Debug)]
pub struct PromptError {
    /// The file that cannot be used.
    pub path: PathBuf,
    /// Why it cannot be read.
    pub error: io::Error,
}

impl std::fmt::Display for PromptError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(
            formatter,
            "{} cannot be read: {}",
            self.path.display(),
            self.error
        )
    }
}

impl std::error::Error for PromptError {}

impl Prompt {
    /// Reads what the user and the project say. `home` is Pirn's own folder; `project` the project's folder of settings, where that
    /// is trusted: its files win over the user's.
    pub fn read(
        cwd: &Path,
        home: Option<&Path>,
        project: Option<&Path>,
        context_files: ContextFiles,
    ) -> Result<Self, PromptError> {
        let own = |name: &str| -> Result<Option<String>, PromptError> {
            for folder in [project, home].into_iter().flatten() {
                let path = folder.join(name);
                if path.is_file() {
                    return text_of(&path).map(Some);
                }
            }
            Ok(None)
        };
        Ok(Self {
            preamble: own(SYSTEM_FILE)?,
            addenda: own(APPEND_FILE)?.into_iter().collect(),
            project_context: match context_files {
                ContextFiles::Read => project_context(cwd, home)?,
                ContextFiles::LeftOut => String::new(),
            },
            resources: Resources::default(),
            cwd: cwd.to_owned(),
        })
    }

    /// The skills, where the model has a tool to read them with.
    fn skills(&self, loadout: &PreparedLoadout) -> String {
        let declared = |name: &&str| {
            let mut declarations = loadout.declarations.iter();
            declarations.any(|declaration| declaration.tool.spec().name == *name)
        };
        match READERS.iter().copied().find(declared) {
            Some(reader) => self.resources.skills_section(reader),
            None => String::new(),
        }
    }

    /// The sections, in order, with the advice of the declared tools.
    pub fn sections(&self, loadout: &PreparedLoadout) -> Vec<(String, String)> {
        let preamble = self.preamble.as_deref().unwrap_or(PREAMBLE);
        let rules = match self.preamble {
            // Who replaces Pirn's words replaces its advice, too.
            Some(_) => String::new(),
            None => rules(loadout),
        };
        let sections = [
            ("preamble", preamble.to_owned()),
            ("rules", rules),
            ("addendum", self.addenda.join("\n\n")),
            ("project_context", self.project_context.clone()),
            ("skills", self.skills(loadout)),
            ("cwd", self.cwd.to_string_lossy().into_owned()),
        ];
        sections
            .into_iter()
            .filter(|(_, text)| !text.is_empty())
            .map(|(name, text)| (name.to_owned(), text))
            .collect()
    }
}

/// The advice of the declared tools, each once.
fn rules(loadout: &PreparedLoadout) -> String {
    let mut rules: Vec<String> = Vec::new();
    for declaration in &loadout.declarations {
        for guideline in &declaration.tool.spec().guidelines {
            let rule = format!("- {guideline}");
            if !rules.contains(&rule) {
                rules.push(rule);
            }
        }
    }
    rules.join("\n")
}

pub(crate) fn text_of(path: &Path) -> Result<String, PromptError> {
    let content = read_bounded(path).map_err(|error| PromptError {
        path: path.to_owned(),
        error,
    })?;
    Ok(content.trim_start_matches('\u{feff}').trim_end().to_owned())
}

fn read_bounded(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    let file = File::open(path)?;
    // One byte more tells a file that is too long from one that just fits.
    file.take(CONTEXT_FILE_BYTES_MAX + 1)
        .read_to_string(&mut text)?;
    if text.len() as u64 > CONTEXT_FILE_BYTES_MAX {
        let kib = CONTEXT_FILE_BYTES_MAX >> 10;
        return Err(io::Error::other(format!(
            "it is larger than {kib} KiB, which would leave the model little room"
        )));
    }
    Ok(text)
}

/// The instructions of the user, and of the folders from the outermost to the one that is worked in.
fn project_context(cwd: &Path, home: Option<&Path>) -> Result<String, PromptError> {
    let mut folders: Vec<&Path> = cwd.ancestors().collect();
    folders.extend(home);
    folders.reverse();
    let mut text = String::new();
    for folder in folders {
        let found = CONTEXT_FILES
            .iter()
            .map(|name| folder.join(name))
            .find(|file| file.is_file());
        if let Some(path) = found {
            let content = text_of(&path)?;
            // Writing to a string cannot fail.
            let _infallible = writeln!(
                text,
                "<project_instructions path=\"{}\">\n{content}\n</project_instructions>",
                path.display()
            );
        }
    }
    Ok(text.trim_end().to_owned())
}
