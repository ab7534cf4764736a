//! `pirn approvals`: shows and takes back the answers that were given for good.

use std::path::Path;

use clap::{Args, Subcommand};
use pirn_runtime::FileGrants;
use pirn_terminal::{Table, on_one_line};
use pirn_tool::{Covers, Grant, GrantStore as _, GrantStoreError};

use crate::failure::{Exit, Failure};
use crate::invocation::Invocation;
use crate::standard;

/// Columns of a row where the output is not on a terminal.
const COLUMNS_DEFAULT: usize = 160;

/// The arguments of `pirn approvals`.
#[derive(Debug, Args)]
pub(crate) struct ApprovalsArguments {
    #[command(subcommand)]
    command: ApprovalsCommand,
}

#[derive(Debug, Subcommand)]
enum ApprovalsCommand {
    /// List the answers that hold until they are taken back
    List {
        /// Print them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Take answers back, so that the next such call is asked about again
    Revoke {
        /// The answers, as `pirn approvals list` names them
        #[arg(value_name = "ID", required = true)]
        ids: Vec<String>,

        /// Print the ids that were taken back as a JSON array
        #[arg(long)]
        json: bool,
    },
}

pub(crate) fn run(
    arguments: &ApprovalsArguments,
    invocation: &Invocation,
) -> Result<Exit, Failure> {
    let Some(home) = &invocation.host.pirn_home else {
        return Err(Failure::usage(
            "there is no home folder, so no approvals are kept; set HOME or PIRN_HOME",
        ));
    };
    let store = FileGrants::new(home);
    match &arguments.command {
        ApprovalsCommand::List { json } => list(&store, Format::new(*json)),
        ApprovalsCommand::Revoke { ids, json } => revoke(&store, ids, Format::new(*json)),
    }
}

#[derive(Clone, Copy)]
enum Format {
    Text,
    Json,
}

impl Format {
    fn new(is_json: bool) -> Self {
        if is_json { Self::Json } else { Self::Text }
    }
}

fn list(store: &FileGrants, format: Format) -> Result<Exit, Failure> {
    let grants = store.list().map_err(unusable)?;
    match format {
        Format::Json => standard::write_out(&json(&grants)?)?,
        Format::Text if grants.is_empty() => standard::note("no approvals are kept"),
        Format::Text => standard::write_out(&table(&grants))?,
    }
    Ok(Exit::Success)
}

fn revoke(store: &FileGrants, ids: &[String], format: Format) -> Result<Exit, Failure> {
    let mut revoked = Vec::new();
    for id in ids {
        if !store.revoke(id).map_err(unusable)? {
            return Err(
                Failure::new(Exit::Failed, format!("no approval `{}`", on_one_line(id)))
                    .hint("`pirn approvals list` shows them"),
            );
        }
        revoked.push(id.as_str());
    }
    match format {
        Format::Json => standard::write_out(&json(&revoked)?)?,
        Format::Text => {
            for id in revoked {
                standard::note(&format!("{} was taken back", on_one_line(id)));
            }
        }
    }
    Ok(Exit::Success)
}

fn table(grants: &[Grant]) -> String {
    let columns = pirn_terminal::columns().unwrap_or(COLUMNS_DEFAULT);
    let mut table = Table::new(columns);
    table.heading(["ID", "WHAT", "FOR", "EFFECTS", "FROM", "PROJECT"]);
    for grant in grants {
        table.row([
            grant.id.as_str(),
            &what(grant),
            &rule(&grant.covers),
            &grant.effects.listed(),
            grant.origin.as_str(),
            &grant.project,
        ]);
    }
    table.render()
}

fn what(grant: &Grant) -> String {
    match grant.subject_name.as_str() {
        "" => grant.subject_kind.clone(),
        name => format!("{} {name}", grant.subject_kind),
    }
}

fn rule(covers: &Covers) -> String {
    match covers {
        Covers::Arguments => "the same arguments".to_owned(),
        Covers::Folder { path } => format!("folder {}", Path::display(path)),
        Covers::Host { host, port } => format!("host {host}:{port}"),
        Covers::Tool => "every call".to_owned(),
    }
}

fn json(value: &impl serde::Serialize) -> Result<String, Failure> {
    let text = serde_json::to_string_pretty(value)
        .map_err(|error| Failure::new(Exit::Failed, error.to_string()))?;
    Ok(format!("{text}\n"))
}

fn unusable(error: GrantStoreError) -> Failure {
    Failure::new(Exit::Failed, error.0)
}
