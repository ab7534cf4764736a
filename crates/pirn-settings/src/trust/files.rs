//! The files of a project that need trust.

use std::path::{Path, PathBuf};

/// The folder of a project's files for Pirn.
pub(super) const PROJECT_FOLDER: &str = ".pirn";

/// One kind of file that needs trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFileKind {
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

impl ProjectFileKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 9] = [
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
    fn present(self, folder: &Path, owner: &UserFolders<'_>) -> Vec<ProjectFile> {
        let (place, name, what) = self.row();
        let found = |folder: &Path| {
            let path = folder.join(name);
            path.exists().then_some(ProjectFile { path, what })
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
pub struct UserFolders<'a> {
    /// The user's home.
    pub home: Option<&'a Path>,
    /// Pirn's own files.
    pub pirn_home: Option<&'a Path>,
}

/// A file or folder that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// Where it is.
    pub path: PathBuf,
    /// What it does, for people.
    pub what: &'static str,
}

impl ProjectFile {
    /// Its path, as short as possible.
    pub fn path_from(&self, folder: &Path) -> &Path {
        self.path.strip_prefix(folder).unwrap_or(&self.path)
    }

    /// Everything of these kinds that is there for the project in `folder`.
    pub fn find(folder: &Path, kinds: &[ProjectFileKind], owner: &UserFolders<'_>) -> Vec<Self> {
        kinds
            .iter()
            .flat_map(|kind| kind.present(folder, owner))
            .collect()
    }
}

/// The folder of the project's files for Pirn. In the user's home that is the user's own, and there is no project's.
pub fn project_folder(folder: &Path, pirn_home: Option<&Path>) -> Option<PathBuf> {
    let project = folder.join(PROJECT_FOLDER);
    let is_own = pirn_home.is_some_and(|own| {
        own == project
            || project
                .canonicalize()
                .is_ok_and(|real| own.canonicalize().is_ok_and(|own| own == real))
    });
    (!is_own).then_some(project)
}
