//! `pirn mcp import`: takes over servers that other programs have configured.

use std::path::PathBuf;

use pirn_import::{
    ImportAction, ImportPlan, ImportProgram, ImportRow, ImportSource, discover_imports, plan_import,
};
use pirn_mcp::{ConfigFile, Edit};

use super::edit::{Target, apply};
use super::{ImportArguments, suggest};
use crate::consent::Asking;
use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;
use crate::variables::XDG_CONFIG_HOME;
use pirn_terminal::on_one_line;
use pirn_terminal::{Question, Reading, Tty, Typed};

pub(super) fn run(arguments: &ImportArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let program = arguments.from.as_deref().map(program).transpose()?;
    let target = Target::new(&arguments.target, invocation)?;
    let plan = plan(program, &target, invocation)?;
    for problem in &plan.problems {
        standard::note(&on_one_line(&problem.to_string()));
    }
    standard::write_out(&as_text(&plan, invocation))?;
    let rows: Vec<&ImportRow> = plan.rows.iter().filter(|row| is_new(row.action)).collect();
    let what = match rows.len() {
        0 => {
            standard::note("there is nothing to add");
            return Ok(Exit::Success);
        }
        1 => "1 server".to_owned(),
        count => format!("{count} servers"),
    };
    if arguments.dry_run || !may_add(&what, arguments, &target, invocation)? {
        standard::note("nothing was added");
        return Ok(Exit::Success);
    }
    for row in rows {
        let edit = Edit::Put {
            name: row.name.clone(),
            server: Box::new(row.server.clone()),
        };
        apply(&target.path, &edit)?;
    }
    standard::note(&format!(
        "added {what} to {}; `pirn mcp list` tries them",
        target.shown()
    ));
    target.tell_trust(invocation);
    Ok(Exit::Success)
}

fn program(typed: &str) -> Result<ImportProgram, Failure> {
    let found = ImportProgram::ALL
        .into_iter()
        .find(|program| program.as_str() == typed);
    found.ok_or_else(|| {
        let names = ImportProgram::ALL.map(ImportProgram::as_str);
        let failure = Failure::usage(format!(
            "nothing can be taken over from `{}`",
            on_one_line(typed)
        ));
        suggest(failure, typed, &names).hint(format!("--from takes {}", names.join(", ")))
    })
}

/// What could be added to the target: to the user's file what is the user's, to the project's what is the project's.
fn plan(
    program: Option<ImportProgram>,
    target: &Target,
    invocation: &Invocation,
) -> Result<ImportPlan, Failure> {
    let home = invocation
        .host
        .home
        .as_ref()
        .ok_or_else(|| Failure::usage("there is no home folder").hint("set HOME"))?;
    let is_wanted = |source: &ImportSource| {
        source.scope == target.scope && program.is_none_or(|program| source.program == program)
    };
    let sources: Vec<ImportSource> = discover_imports(
        home,
        &invocation.host.cwd,
        &configuration_folders(invocation),
    )
    .into_iter()
    .filter(is_wanted)
    .collect();
    let existing = pirn_mcp::load(&[ConfigFile {
        scope: target.scope,
        path: target.path.clone(),
    }]);
    Ok(plan_import(
        &sources,
        &invocation.host.cwd,
        &existing.servers,
    ))
}

/// Where programs keep their configuration on this system.
fn configuration_folders(invocation: &Invocation) -> Vec<PathBuf> {
    let in_home = |folder: &str| invocation.host.home.as_ref().map(|home| home.join(folder));
    let usual = XDG_CONFIG_HOME
        .read()
        .map(PathBuf::from)
        .or_else(|| in_home(".config"));
    let of_mac = in_home("Library/Application Support").filter(|_| cfg!(target_os = "macos"));
    usual.into_iter().chain(of_mac).collect()
}

/// Whether a server is added. Those that are there already are left alone.
fn is_new(action: ImportAction) -> bool {
    match action {
        ImportAction::Add | ImportAction::NeedsValue => true,
        ImportAction::ExistsSame | ImportAction::ExistsDifferent => false,
    }
}

fn as_text(plan: &ImportPlan, invocation: &Invocation) -> String {
    let mut table = invocation.table();
    for row in &plan.rows {
        let action = match row.action {
            ImportAction::Add => "add",
            ImportAction::NeedsValue => "add, needs a value",
            ImportAction::ExistsSame => "is there",
            ImportAction::ExistsDifferent => "is there, differs",
        };
        table.row([&row.name, action, row.source.as_str(), &row.transport]);
        for note in &row.notes {
            table.below(note);
        }
    }
    table.render()
}

fn may_add(
    what: &str,
    arguments: &ImportArguments,
    target: &Target,
    invocation: &Invocation,
) -> Result<bool, Failure> {
    if arguments.yes {
        return Ok(true);
    }
    match invocation.asking() {
        Asking::Impossible => Err(Failure::usage("there is no terminal to ask on")
            .hint("--yes adds without asking, --dry-run only shows")),
        Asking::Possible => {
            let question = Question::new("pirn mcp import", &format!("adds {what}"))
                .fact(&format!("to {}", target.shown()));
            let read = |word: &str| match word.to_ascii_lowercase().as_str() {
                "y" | "yes" => Ok(Reading::Consent(true)),
                "n" | "no" | "" => Ok(Reading::Refusal(false)),
                _ => Err(String::new()),
            };
            let answer =
                Tty::open().and_then(|mut tty| question.ask(&mut tty, "Add? [y]es, [n]o: ", read));
            Ok(matches!(answer, Ok(Typed::Answer(true))))
        }
    }
}
