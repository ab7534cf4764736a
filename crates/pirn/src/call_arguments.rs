//! What can be typed about the calls of a script or a model: the same for every command that makes them.

use std::path::{Path, PathBuf};

use clap::{Args, ValueHint};
use pirn_runtime::{Permissions, Reach, ToolFilter};
use pirn_settings::{FlagValues, ProjectFileKind};
use pirn_tool::Effects;

use crate::arguments::{
    ApprovalArguments, EVERY_EFFECT, UsedServersArguments, effects_parser, union,
};
use crate::confinement::ConfinementArguments;
use crate::failure::Failure;
use crate::invocation::Invocation;
use crate::mcp::Configuration;
use crate::project::Project;
use crate::trust::TrustQuestion;

/// What calls may be made, in which project, and how they are confined.
#[derive(Debug, Args)]
pub(crate) struct CallArguments {
    /// Folder in which the tools work; files that are named here are looked up in the current one
    #[arg(long, value_name = "DIR", value_hint = ValueHint::DirPath)]
    pub(crate) cwd: Option<PathBuf>,

    /// Offer only these tools; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        allow_hyphen_values = true,
        help_heading = "Tools"
    )]
    tools: Vec<String>,

    /// Leave these tools out; a name may hold `*`
    #[arg(
        long,
        value_name = "NAMES",
        value_delimiter = ',',
        help_heading = "Tools"
    )]
    exclude_tools: Vec<String>,

    /// Allow tools with these effects without asking; alone, it allows all
    ///
    /// `process` includes `write` and `network`, since a command can do both; it covers commands, not tools of MCP servers without
    /// a sandbox. Reading is always allowed. What is neither allowed nor denied is asked about where somebody can be asked, and
    /// denied elsewhere.
    #[arg(
        long,
        value_name = "EFFECTS",
        value_delimiter = ',',
        num_args = 0..,
        require_equals = true,
        default_missing_value = EVERY_EFFECT,
        value_parser = effects_parser(),
        help_heading = "Permissions"
    )]
    yes: Vec<Effects>,

    /// Deny tools with any of these effects; wins over all that allows
    #[arg(
        long,
        value_name = "EFFECTS",
        value_delimiter = ',',
        value_parser = effects_parser(),
        help_heading = "Permissions"
    )]
    deny: Vec<Effects>,

    /// Deny every tool that can do more than read
    #[arg(long, conflicts_with = "yes", help_heading = "Permissions")]
    read_only: bool,

    #[command(flatten)]
    confinement: ConfinementArguments,

    #[command(flatten)]
    mcp: UsedServersArguments,

    /// Trust in the project.
    #[command(flatten)]
    approval: ApprovalArguments,
}

impl CallArguments {
    /// The project in `folder`, with settings below these arguments and the other flags of the command.
    pub(crate) fn project(
        &self,
        folder: &Path,
        flags: FlagValues,
        invocation: &Invocation,
    ) -> Result<Project, Failure> {
        self.project_with(folder, flags, &[], TrustQuestion::Asked, invocation)
    }

    /// Like [`Self::project`], for a command that uses more of its files, and says whether a person is asked about them.
    pub(crate) fn project_with(
        &self,
        folder: &Path,
        mut flags: FlagValues,
        more_kinds: &[ProjectFileKind],
        question: TrustQuestion,
        invocation: &Invocation,
    ) -> Result<Project, Failure> {
        self.confinement.add_to(&mut flags)?;
        let kinds = [self.mcp.file_kinds(), more_kinds].concat();
        Project::open_with(folder, &kinds, &self.approval, question, &flags, invocation)
    }

    /// The servers to use.
    pub(crate) fn servers(
        &self,
        project: &Project,
        folder: &Path,
        invocation: &Invocation,
    ) -> Result<Option<Configuration>, Failure> {
        self.mcp.configuration(project, folder, invocation)
    }

    /// The tools that can be called.
    pub(crate) fn filter(&self) -> ToolFilter {
        ToolFilter {
            include: self.tools.clone(),
            exclude: self.exclude_tools.clone(),
            ..ToolFilter::default()
        }
    }

    /// What is allowed and denied beforehand.
    pub(crate) fn permissions(&self) -> Permissions {
        Permissions {
            allowed: union(&self.yes),
            denied: union(&self.deny),
            tools: Vec::new(),
            reach: if self.read_only {
                Reach::Reading
            } else {
                Reach::Everything
            },
        }
    }
}

/// The folder in which tools work.
pub(crate) fn working_folder(
    cwd: Option<&PathBuf>,
    invocation: &Invocation,
) -> Result<PathBuf, Failure> {
    let Some(cwd) = cwd else {
        return Ok(invocation.host.cwd.clone());
    };
    let shown = cwd.display();
    let folder = invocation.host.cwd.join(cwd);
    match std::fs::metadata(&folder) {
        Ok(metadata) if metadata.is_dir() => Ok(folder),
        Ok(_) => Err(Failure::usage(format!("--cwd {shown} is not a folder"))),
        Err(error) => Err(Failure::usage_because(
            error,
            format!("--cwd {shown} cannot be used"),
        )),
    }
}
