//! `pirn config`: the settings with their values and where these come from, and changes to one file.

use std::ffi::OsStr;
use std::path::PathBuf;

use clap::builder::{PossibleValue, TypedValueParser};
use clap::{Args, Subcommand};
use pirn_settings::{
    ChangeError, HostEnv, Layer, Loaded, ProjectFileKind, SettingKey, SettingValue, Settings,
    Source, Trust, settings_file,
};
use pirn_terminal::on_one_line;
use serde_json::{Value, json};

use crate::failure::{Exit, Failure};
use crate::invocation::{Invocation, Stream};
use crate::settings::told;
use crate::standard;
use crate::trust::current;

/// The arguments of `pirn config`.
#[derive(Debug, Args)]
pub(crate) struct ConfigArguments {
    #[command(subcommand)]
    command: ConfigCommand,
}

/// The commands below `pirn config`.
#[derive(Debug, Subcommand)]
enum ConfigCommand {
    /// List all settings with their values and where these come from
    List {
        /// Print everything about them as a JSON array
        #[arg(long)]
        json: bool,
    },
    /// Print the value of a setting
    Get {
        #[command(flatten)]
        setting: SettingArgument,

        /// Print everything about it as a JSON object
        #[arg(long)]
        json: bool,
    },
    /// Set a setting in a file; comments stay
    Set {
        #[command(flatten)]
        setting: SettingArgument,

        /// The value; several for a list, or one JSON array
        #[arg(value_name = "VALUE", required = true, allow_hyphen_values = true)]
        value: Vec<String>,

        #[command(flatten)]
        file: FileArgument,
    },
    /// Take a setting out of a file, so that it is as by default
    Unset {
        #[command(flatten)]
        setting: SettingArgument,

        #[command(flatten)]
        file: FileArgument,
    },
    /// Open a file in the editor that VISUAL or EDITOR names
    Edit {
        #[command(flatten)]
        file: FileArgument,
    },
    /// Print the path of a file, whether it is there or not
    Path {
        #[command(flatten)]
        file: FileArgument,
    },
}

/// A setting as it is typed.
#[derive(Debug, Args)]
struct SettingArgument {
    /// The setting, like sandbox.network
    #[arg(value_name = "SETTING", value_parser = SettingParser, hide_possible_values = true)]
    key: SettingKey,
}

/// Which file is meant.
#[derive(Debug, Args)]
struct FileArgument {
    /// The project's file instead of the user's; it can only make things stricter
    #[arg(long)]
    project: bool,
}

impl FileArgument {
    fn layer(&self) -> Layer {
        if self.project {
            Layer::Project
        } else {
            Layer::User
        }
    }
}

/// Knows all settings, for completions too.
#[derive(Clone)]
struct SettingParser;

impl TypedValueParser for SettingParser {
    type Value = SettingKey;

    fn parse_ref(
        &self,
        command: &clap::Command,
        _argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<SettingKey, clap::Error> {
        let typed = value.to_string_lossy();
        SettingKey::find(&typed).map_err(|unknown| {
            let tip = unknown.meant.map_or_else(
                || "`pirn config list` shows all".to_owned(),
                |meant| format!("did you mean `{meant}`?"),
            );
            let message = format!(
                "there is no setting `{}`\n\n  tip: {tip}",
                on_one_line(&typed)
            );
            clap::Error::raw(clap::error::ErrorKind::InvalidValue, message).with_cmd(command)
        })
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        Some(Box::new(
            SettingKey::all().map(|key| PossibleValue::new(key.key())),
        ))
    }
}

pub(crate) fn run(arguments: &ConfigArguments, invocation: &Invocation) -> Result<Exit, Failure> {
    let host = &invocation.host;
    match &arguments.command {
        ConfigCommand::List { json } => {
            let loaded = effective(invocation)?;
            let text = if *json {
                let rows: Vec<Value> = loaded.values().map(|row| as_json(&row)).collect();
                format!("{:#}\n", Value::Array(rows))
            } else {
                as_table(&loaded, invocation)
            };
            standard::write_out(&text)?;
        }
        ConfigCommand::Get { setting, json } => {
            let loaded = effective(invocation)?;
            let row = loaded.value(setting.key);
            let text = if *json {
                format!("{:#}\n", as_json(&row))
            } else {
                let shown = match (&row.value, invocation.stdout) {
                    (Value::String(text), Stream::Terminal) => on_one_line(text),
                    (Value::String(text), Stream::Other) => text.clone(),
                    (value, Stream::Terminal) => on_one_line(&value.to_string()),
                    (value, Stream::Other) => value.to_string(),
                };
                format!("{shown}\n")
            };
            standard::write_out(&text)?;
        }
        ConfigCommand::Set {
            setting,
            value,
            file,
        } => {
            let key = setting.key;
            let path = key
                .typed(value)
                .and_then(|value| key.set(file.layer(), &value, &host.cwd, host))
                .map_err(refused)?;
            standard::note(&format!("{} is set in {}", key.key(), shown(&path)));
            tell_trust(file.layer(), invocation);
        }
        ConfigCommand::Unset { setting, file } => {
            let key = setting.key;
            let (path, was_there) = key.unset(file.layer(), &host.cwd, host).map_err(refused)?;
            let done = if was_there {
                "was taken out of"
            } else {
                "is not in"
            };
            standard::note(&format!("{} {done} {}", key.key(), shown(&path)));
        }
        ConfigCommand::Edit { file } => edit(file.layer(), invocation)?,
        ConfigCommand::Path { file } => {
            let path = file_of(file.layer(), host)?;
            standard::write_out(&format!("{}\n", path.display()))?;
        }
    }
    Ok(Exit::Success)
}

/// What counts in the current folder, without asking about trust. What is ignored is told; what is wrong is a failure.
fn effective(invocation: &Invocation) -> Result<Loaded, Failure> {
    let folder = &invocation.host.cwd;
    let trust = current(folder, &[ProjectFileKind::Settings], invocation)
        .map_or(Trust::Untrusted, |verdict| verdict.trust);
    tell_trust(Layer::Project, invocation);
    told(Settings::load(folder, trust, &invocation.host))
}

fn refused(error: ChangeError) -> Failure {
    let hint = match &error {
        ChangeError::Value(_) => "docs/settings.md lists all settings with their values",
        ChangeError::Weaker(_) => {
            "a project's file can only make things stricter; leave --project out to change your own"
        }
        ChangeError::NoFolder(Layer::User) => "set HOME or PIRN_HOME",
        ChangeError::NoFolder(Layer::Project) => "leave --project out",
        ChangeError::File(_) | _ => "repair the file or move it away; it was not changed",
    };
    Failure::usage_because(error, "nothing was changed").hint(hint)
}

fn file_of(layer: Layer, host: &HostEnv) -> Result<PathBuf, Failure> {
    settings_file(layer, &host.cwd, host).map_err(refused)
}

/// Says so where the project's file is there and does not count.
fn tell_trust(layer: Layer, invocation: &Invocation) {
    let is_there = file_of(Layer::Project, &invocation.host).is_ok_and(|file| file.exists());
    let verdict = current(
        &invocation.host.cwd,
        &[ProjectFileKind::Settings],
        invocation,
    );
    // What is wrong with the trust file is told by those who need it.
    if layer == Layer::Project
        && is_there
        && verdict.is_ok_and(|verdict| verdict.trust == Trust::Untrusted)
    {
        standard::note(
            "the project's file counts when the project is trusted; `pirn trust` decides",
        );
    }
}

/// Opens the file and says what is wrong in it afterwards.
fn edit(layer: Layer, invocation: &Invocation) -> Result<(), Failure> {
    let host = &invocation.host;
    let path = file_of(layer, host)?;
    if let Some(folder) = path.parent() {
        std::fs::create_dir_all(folder).map_err(|error| {
            Failure::usage_because(error, format!("{} cannot be made", folder.display()))
        })?;
    }
    let status = invocation.text_editor().open(&path).map_err(|error| {
        Failure::usage_because(error, format!("{} was not edited", shown(&path)))
            .hint("VISUAL or EDITOR names another editor")
    })?;
    if !status.success() {
        return Err(Failure::new(
            Exit::Failed,
            format!("the editor ended with {status}"),
        ));
    }
    // Whether the project is trusted or not: the user wants to know what is wrong in what was just written.
    told(Settings::load(&host.cwd, Trust::Trusted, host))?;
    tell_trust(layer, invocation);
    Ok(())
}

fn as_table(loaded: &Loaded, invocation: &Invocation) -> String {
    let mut table = invocation.table();
    for row in loaded.values() {
        let value = match &row.value {
            Value::Null => "-".to_owned(),
            Value::String(text) => text.clone(),
            value => value.to_string(),
        };
        table.row([row.key, &value, &sources(&row)]);
    }
    table.render()
}

/// Where a value comes from, in words.
fn sources(row: &SettingValue<'_>) -> String {
    let words: Vec<String> = row.sources.iter().map(ToString::to_string).collect();
    if words.is_empty() {
        "default".to_owned()
    } else {
        words.join(" and ")
    }
}

fn as_json(row: &SettingValue<'_>) -> Value {
    let sources: Vec<Value> = row
        .sources
        .iter()
        .map(|source| match source {
            Source::File { layer, path, line } => {
                json!({"from": layer.as_str(), "path": path.to_string_lossy(), "line": line})
            }
            Source::Flag(name) => json!({"from": "flag", "name": name}),
            Source::Environment(name) => json!({"from": "environment", "name": name}),
        })
        .collect();
    json!({
        "key": row.key,
        "value": row.value,
        "default": row.default,
        "sources": sources,
        "help": row.help,
    })
}

fn shown(path: &std::path::Path) -> String {
    on_one_line(&path.to_string_lossy())
}
