//! The files of a project that need trust.

use std::path::{Path, PathBuf};

/// The folder of a project's files for Pirn.
pub(super) const PROJECT_FOLDER: &str = ".pirn";

/// Where a project's own Python is, below its folder.
pub const PROJECT_PYTHONS: [&str; 2] = [".venv/bin/python", "venv/bin/python"];

/// One kind of file that needs trust.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ProjectFileKind {
    /// The project's settings, `settings.json`.
    Settings,
    /// MCP servers: programs that are started and hosts that are asked.
    McpServers,
    /// Extensions: code that runs inside Pirn.
    Extensions,
    /// Skills of the project, for Pirn alone.
    Skills,
    /// Templates of prompts, `prompts`.
    Prompts,
    /// Themes of the terminal interface.
    Themes,
    /// A system prompt in place of Pirn's own.
    SystemPrompt,
    /// An addition to the system prompt.
    SystemPromptAddition,
    /// Skills for every agent; also in the folders above.
    SharedSkills,
    /// The interpreter of a virtual environment.
    Python,
    /// The same, under its other usual name.
    OtherPython,
}

/// What a project's Python is, for people.
const PYTHON_IS: &str = "the interpreter that runs Python programs";

/// Where a kind of file is looked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Place {
    /// In the project's `.pirn`.
    Project,
    /// In the project's folder and every folder above.
    Above,
    /// In the project's folder.
    Folder,
}

impl ProjectFileKind {
    /// Every kind, in the order in which they are shown.
    pub const ALL: [Self; 11] = [
        Self::Settings,
        Self::McpServers,
        Self::Extensions,
        Self::Skills,
        Self::Prompts,
        Self::Themes,
        Self::SystemPrompt,
        Self::SystemPromptAddition,
        Self::SharedSkills,
        Self::Python,
        Self::OtherPython,
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
            Self::Python => (Place::Folder, PROJECT_PYTHONS[0], PYTHON_IS),
            Self::OtherPython => (Place::Folder, PROJECT_PYTHONS[1], PYTHON_IS),
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
            // In the user's home it is the user's own.
            Place::Folder if owner.home == Some(folder) => Vec::new(),
            Place::Folder => found(folder).into_iter().collect(),
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
    /// The user's home folder, where there is one.
    pub home: Option<&'a Path>,
    /// The folder of Pirn's own files.
    pub pirn_home: Option<&'a Path>,
}

/// A file or folder that needs trust.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProjectFile {
    /// The absolute path of the file or folder.
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
