//! The files of a project that need trust.

use std::path::{Path, PathBuf};

use crate::visible::on_one_line;

/// The folder of a project's files for Pirn.
const PROJECT_FOLDER: &str = ".pirn";

/// One kind of file that needs trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Gate {
    /// Settings.
    Settings,
    /// MCP servers: programs that are started and hosts that are asked.
    McpServers,
    /// Extensions.
    Extensions,
    /// Skills.
    Skills,
    /// Prompt templates.
    Prompts,
    /// Themes.
    Themes,
    /// The system prompt.
    SystemPrompt,
    /// An addition to the system prompt.
    SystemPromptAddition,
    /// Skills for every agent; also in the folders above.
    SharedSkills,
}

/// Where a kind of file is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the project's `.pirn`.
    Project,
    /// In the project's folder and every folder above.
    Above,
}

impl Gate {
    /// Every kind, in the order in which they are shown.
    pub(crate) const ALL: [Self; 9] = [
        Self::Settings,
        Self::McpServers,
        Self::Extensions,
        Self::Skills,
        Self::Prompts,
        Self::Themes,
        Self::SystemPrompt,
        Self::SystemPromptAddition,
        Self::SharedSkills,
    ];

    /// Where it lies, its name there, and what it does, for people.
    fn row(self) -> (Place, &'static str, &'static str) {
        match self {
            Self::Settings => (Place::Project, "settings.json", "settings"),
            Self::McpServers => (
                Place::Project,
                "mcp.json",
                "MCP servers: programs that are started",
            ),
            Self::Extensions => (Place::Project, "extensions", "extensions: code that is run"),
            Self::Skills => (Place::Project, "skills", "skills"),
            Self::Prompts => (Place::Project, "prompts", "prompt templates"),
            Self::Themes => (Place::Project, "themes", "themes"),
            Self::SystemPrompt => (Place::Project, "SYSTEM.md", "the system prompt"),
            Self::SystemPromptAddition => (
                Place::Project,
                "APPEND_SYSTEM.md",
                "an addition to the system prompt",
            ),
            Self::SharedSkills => (Place::Above, ".agents/skills", "skills"),
        }
    }

    /// The files of this kind that are there.
    fn present(self, folder: &Path, owner: &Owner<'_>) -> Vec<Gated> {
        let (place, name, what) = self.row();
        let found = |folder: &Path| {
            let path = folder.join(name);
            path.exists().then_some(Gated { path, what })
        };
        match place {
            Place::Project => project_folder(folder, owner.pirn_home)
                .and_then(|project| found(&project))
                .into_iter()
                .collect(),
            Place::Above => folder
                .ancestors()
                .filter(|above| owner.home != Some(above))
                .filter_map(found)
                .collect(),
        }
    }
}

/// The folders that are the user's own and need no trust, without links in their paths.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Owner<'a> {
    /// The user's home.
    pub(crate) home: Option<&'a Path>,
    /// Pirn's own files.
    pub(crate) pirn_home: Option<&'a Path>,
}

/// A file or folder that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Gated {
    /// Where it is.
    pub(crate) path: PathBuf,
    /// What it does, for people.
    pub(crate) what: &'static str,
}

impl Gated {
    /// Its path on one line, as short as possible.
    pub(crate) fn shown(&self, folder: &Path) -> String {
        let path = self.path.strip_prefix(folder).unwrap_or(&self.path);
        on_one_line(&path.to_string_lossy())
    }

    /// A line of a list.
    pub(crate) fn row(&self, folder: &Path) -> String {
        format!("  {} ({})\n", self.shown(folder), self.what)
    }

    /// Everything of these kinds that is there for the project in `folder`.
    pub(crate) fn find(folder: &Path, gates: &[Gate], owner: &Owner<'_>) -> Vec<Self> {
        gates
            .iter()
            .flat_map(|gate| gate.present(folder, owner))
            .collect()
    }
}

/// The folder of the project's files for Pirn. In the user's home that is the user's own, and there is no project's.
pub(crate) fn project_folder(folder: &Path, pirn_home: Option<&Path>) -> Option<PathBuf> {
    let project = folder.join(PROJECT_FOLDER);
    let is_own = pirn_home.is_some_and(|own| {
        own == project
            || project
                .canonicalize()
                .is_ok_and(|real| own.canonicalize().is_ok_and(|own| own == real))
    });
    (!is_own).then_some(project)
}
