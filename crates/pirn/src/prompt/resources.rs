//! What the user and the project say to every model: prompts, skills, templates.

use std::path::{Path, PathBuf};

use pirn_agent::{ResourcePlaces, Resources};
use pirn_settings::{FlagValues, ProjectFileKind, Trust, project_folder};

use super::PromptArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::project::Project;
use crate::trust::TrustQuestion;

/// Skills, in Pirn's folder and in the project's.
const SKILLS: &str = "skills";
/// Templates, in the same places.
const PROMPTS: &str = "prompts";
/// Skills for every agent, in the user's home and in the project's folders.
const SHARED_SKILLS: &str = ".agents/skills";
/// What the outermost folder of a project has.
const REPOSITORY_MARK: &str = ".git";

impl PromptArguments {
    /// The project in `folder`, with the files that a conversation uses.
    pub(crate) fn project(
        &self,
        folder: &Path,
        question: TrustQuestion,
        invocation: &Invocation,
    ) -> Result<Project, Failure> {
        let flags = FlagValues::default();
        self.calls
            .project_with(folder, flags, &self.file_kinds(), question, invocation)
    }

    /// The files of the project that a conversation uses besides settings and servers.
    fn file_kinds(&self) -> Vec<ProjectFileKind> {
        let mut kinds = vec![
            ProjectFileKind::SystemPrompt,
            ProjectFileKind::SystemPromptAddition,
        ];
        if !self.no_skills {
            kinds.extend([ProjectFileKind::Skills, ProjectFileKind::SharedSkills]);
        }
        if !self.no_prompt_templates {
            kinds.push(ProjectFileKind::Prompts);
        }
        kinds
    }
}

/// The project's own folder, where its files count.
pub(super) fn trusted_folder(cwd: &Path, trust: Trust, invocation: &Invocation) -> Option<PathBuf> {
    match trust {
        Trust::Trusted => project_folder(cwd, invocation.host.pirn_home.as_deref()),
        Trust::Untrusted => None,
    }
}

/// Reads the skills and templates that there are.
pub(super) fn read(
    arguments: &PromptArguments,
    cwd: &Path,
    trust: Trust,
    invocation: &Invocation,
) -> Resources {
    let host = &invocation.host;
    let project = trusted_folder(cwd, trust, invocation);
    let own = |name: &str| -> Vec<PathBuf> {
        let folders = [host.pirn_home.as_ref(), project.as_ref()];
        let folders = folders.into_iter().flatten();
        folders.map(|folder| folder.join(name)).collect()
    };
    let here = |paths: &[PathBuf]| paths.iter().map(|path| host.cwd.join(path)).collect();
    let mut skills = Vec::new();
    if !arguments.no_skills {
        skills = own(SKILLS);
        skills.extend(host.home.iter().map(|home| home.join(SHARED_SKILLS)));
        if trust == Trust::Trusted {
            skills.extend(shared_by_project(cwd));
        }
    }
    Resources::read(&ResourcePlaces {
        skills,
        single_skills: here(&arguments.skill),
        templates: if arguments.no_prompt_templates {
            Vec::new()
        } else {
            own(PROMPTS)
        },
        single_templates: here(&arguments.prompt_template),
    })
}

/// Skills for every agent, from the folder that is worked in up to the root of its repository.
fn shared_by_project(cwd: &Path) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for folder in cwd.ancestors() {
        folders.push(folder.join(SHARED_SKILLS));
        if folder.join(REPOSITORY_MARK).exists() {
            return folders;
        }
    }
    // In no repository: what lies further up is somebody else's.
    folders.truncate(1);
    folders
}
